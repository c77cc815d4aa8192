"""Dulac-Arnold, Denoyer, Preux and Gallinari (2012), Sequential approaches for learning datum-wise sparse
representations, section 6.

Six studies, one folder each, with the file names that every study has: ``binary`` (section 6.1), ``multiclass`` (6.2),
``budget`` (6.3.1), ``cost`` (6.3.2), ``groups`` and ``relational`` (6.3.3). They have separate folders because common
files would be longer than 400 lines. Code that they share is in files of the same names in this folder. Their cells
are computed by ``common/cell.py``.
"""
