"""Compiled trees that agents and baselines share: binned tables, histogram trees, forests.

>>> import numpy as np
>>> from fsgym.trees import TreeGrower, bin_table
>>> X = np.array([[0.0, 3.0], [1.0, 3.0], [2.0, 5.0], [3.0, 5.0]])
>>> with TreeGrower(bin_table(X), max_depth=1) as grower:
...     tree = grower.grow(np.array([-1.0, -1.0, 2.0, 2.0]))
>>> tree.feature.tolist(), float(tree.threshold[0]), tree.value.tolist()
([0, -1, -1], 1.5, [0.5, -1.0, 2.0])
"""

from fsgym.trees.binning import BinnedTable, bin_table
from fsgym.trees.forest import Forest, add_binned
from fsgym.trees.tree import Tree, TreeGrower

__all__ = ["BinnedTable", "Forest", "Tree", "TreeGrower", "add_binned", "bin_table"]
