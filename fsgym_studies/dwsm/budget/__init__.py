"""Dulac-Arnold et al. (2012), section 6.3.1: a hard budget."""
