"""Dulac-Arnold, Denoyer, Preux and Gallinari (2012), Sequential approaches for learning datum-wise sparse
representations, section 6.

Six studies, one file each: ``binary`` (section 6.1), ``multiclass`` (6.2), ``budget`` (6.3.1), ``cost`` (6.3.2),
``groups`` and ``relational`` (6.3.3). What they share is in ``shared``; ``study_cells`` plans their cells.
"""
