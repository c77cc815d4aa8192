"""Xie and Xu (2013), Sparse group LASSO based uncertain feature selection, section 4."""
