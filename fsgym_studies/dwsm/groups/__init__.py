"""Dulac-Arnold et al. (2012), section 6.3.3: features in groups."""
