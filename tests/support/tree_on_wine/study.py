"""Nobody (2026): a tree on wine."""

from fsgym.comparison.protocol import Protocol
from fsgym.comparison.splits import random_splits
from fsgym_studies.common.curves import evaluated_cells, setting_means
from fsgym_studies.common.plan import CART, MethodSettings, Source, study_cells
from fsgym_studies.common.render import settings_table
from fsgym_studies.common.study import Conclusion, Study, bibtex
from support.tree_on_wine.claims import claims
from support.tree_on_wine.tables import depth_picture

TREE_DATA = Source("wine", "wine")
TREES = MethodSettings(CART, "cart", tuple({"max_depth": depth} for depth in (1, 2, 3)))
SPLITS = {False: 2, True: 5}  # quick and full study


def plan(full, data_dir):
    return list(study_cells(Protocol.for_dataset(TREE_DATA.load(data_dir), random_splits(0.5, SPLITS[full])), [TREES]))


def protocol(full):
    return f"We repeat Table 1 of Nobody (2026) on {SPLITS[full]} random splits of wine."


def conclude(cells, table, full):
    settings = setting_means(evaluated_cells(table))
    tables, pictures = [settings_table(settings)], [depth_picture(settings)]
    return Conclusion(protocol(full), claims(settings), tables, pictures, shown=("settings", "depth"))


STUDY = Study("tree-on-wine", "A tree on wine", bibtex(__file__), (0.1, 0.2), ("wine",), plan, conclude)
