"""Dulac-Arnold, Denoyer, Preux and Gallinari (2012), Sequential approaches for learning datum-wise sparse
representations, section 6.

Six studies, one folder each, with the file names that every study has: ``binary`` (section 6.1), ``multiclass`` (6.2),
``budget`` (6.3.1), ``cost`` (6.3.2), ``groups`` and ``relational`` (6.3.3). One folder for all six would need files of
more than 400 lines and six names for each function. What they share is in the files of the same names beside the
folders. Their cells are those of ``common/cell.py``.
"""
