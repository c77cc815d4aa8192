"""Jawanpuria, Nath and Ramakrishnan (2015), Generalized hierarchical kernel learning: max-margin disjunctions,
Tables 1 to 5.
"""
