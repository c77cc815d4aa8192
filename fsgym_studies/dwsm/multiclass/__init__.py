"""Dulac-Arnold et al. (2012), section 6.2: sparse multiclass classification."""
