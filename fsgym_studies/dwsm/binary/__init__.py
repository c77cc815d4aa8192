"""Dulac-Arnold et al. (2012), section 6.1: sparse binary classification."""
