"""Optimally extracting discriminative disjunctive features for dimensionality reduction (authors and year not found):
max-margin disjunctions of features, Tables 1 to 5. The method is hierarchical kernel learning (Bach, 2009; Jawanpuria,
Nath and Ramakrishnan, 2015).
"""
