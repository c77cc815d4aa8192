"""Xu, Huang, Weinberger and Zheng (2014), Gradient boosted feature selection, section 5."""
