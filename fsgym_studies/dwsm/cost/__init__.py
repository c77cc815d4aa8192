"""Dulac-Arnold et al. (2012), section 6.3.2: costs of tests and errors."""
