"""Dulac-Arnold et al. (2012), section 6.3.3: blocks of an image."""
