"""The table of methods that can be compared by name. A new method is one entry in ``METHODS``."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from fsgym.extras import require

HOME = Path(__file__).resolve().parent.parent


class Method(NamedTuple):
    """How a method is found and swept.

    Attributes
    ----------
    title : str, what figures and tables call it
    where : str, ``"module:Class"``, imported when the method is used
    prices : bool
        True: it plans with prices. It is swept over ``lam`` and given those rules of the comparison that it has
        parameters for; what it has none for, it cannot plan with, and may come out inadmissible.
        False: it knows no price, and its class lays out its own knob with ``sparsity_grid(X, y) -> list of dict``.
    reference : str, who described it
    preset : mapping, parameters of its class that make it this method
    extra : str, what must be installed for it, a key of ``fsgym.extras.EXTRAS``; "" for nothing
    kind : str, the kind of the model files that its class writes with ``save``; "" where it writes none
    """

    title: str
    where: str
    prices: bool
    reference: str
    preset: Mapping[str, Any] = MappingProxyType({})
    extra: str = ""
    kind: str = ""


METHODS: dict[str, Method] = {
    "rcpi": Method(
        "RCPI (datum-wise)", "agents:DatumWiseClassifier", True,
        "Dulac-Arnold, Denoyer, Preux and Gallinari (2012)", kind="linear",
    ),
    "maskable_ppo": Method(
        "MaskablePPO", "agents:SB3Classifier", True, "Huang and Ontañón (2022)", {"algorithm": "maskable_ppo"}, "rl",
        "network",
    ),
    "dqn": Method(
        "Masked DQN", "agents:SB3Classifier", True, "Mnih et al. (2015), van Hasselt, Guez and Silver (2016)",
        {"algorithm": "dqn"}, "rl", "network",
    ),
    "lattice": Method(
        "Lattice policy iteration", "agents:LatticeClassifier", True,
        "after Dulac-Arnold, Denoyer, Preux and Gallinari (2012)", kind="lattice",
    ),
    "l1_svm": Method(
        "L1-SVM", "baselines:L1SVMClassifier", False, "Fan, Chang, Hsieh, Wang and Lin (2008), LIBLINEAR"
    ),
    "lars": Method(
        "LARS / lasso path", "baselines:LassoPathClassifier", False,
        "Efron, Hastie, Johnstone and Tibshirani (2004)",
    ),
    "lufe": Method(
        "LUFe", "baselines:LUFeClassifier", False,
        "Taylor, Sharmanska, Kersting, Weir and Quadrianto (2016)",
    ),
    "uncertain_sgl": Method(
        "Uncertain SGL + HIK-SVM", "baselines:UncertainHIKClassifier", False, "Xie and Xu (2013)"
    ),
    "gbfs": Method("GBFS", "baselines:GBFSClassifier", False, "Xu, Huang, Weinberger and Zheng (2014)"),
    "hkl": Method(
        "HKL disjunctions", "baselines:DisjunctionClassifier", False,
        "Bach (2009); Jawanpuria, Nath and Ramakrishnan (2015)",
    ),
    "l1_logistic": Method(
        "L1 logistic regression", "baselines:L1LogisticClassifier", False, "Lee, Lee, Abbeel and Ng (2006)"
    ),
    "group_lasso": Method(
        "Group LASSO logistic", "baselines:GroupLassoClassifier", False, "Meier, van de Geer and Bühlmann (2008)"
    ),
    "forest": Method("Random forest selection", "baselines:ForestSelectionClassifier", False, "Breiman (2001)"),
    "mrmr": Method("mRMR + SVM", "baselines:MRMRClassifier", False, "Peng, Long and Ding (2005)"),
    "hsic_lasso": Method(
        "HSIC Lasso + SVM", "baselines:HSICLassoClassifier", False,
        "Yamada, Jitkrittum, Sigal, Xing and Sugiyama (2014)",
    ),
    "cegb": Method(
        "CEGB (LightGBM)", "baselines:CEGBClassifier", True, "Peter, Diego, Hamprecht and Nadler (2017)", extra="cegb"
    ),
    "cart": Method("CART", "baselines:CARTClassifier", False, "Breiman, Friedman, Olshen and Stone (1984)"),
}  # fmt: skip


def find_method(name: str) -> Method:
    """The entry of that name; ValueError with a suggestion where there is none."""
    if name in METHODS:
        return METHODS[name]
    close = difflib.get_close_matches(str(name), METHODS, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"they are {', '.join(METHODS)}"
    raise ValueError(f"unknown method {name!r}; {hint}")


def load_class(method: Method) -> type[Any]:
    """The class of a method; ImportError in one sentence where a foreign package is in the way, an extra missing."""
    if method.extra:
        require(method.extra, method.title)
    package, _, name = method.where.partition(":")
    strange = foreign(package)
    if strange:
        raise ImportError(strange)
    return getattr(importlib.import_module(package), name)


def planned_with(cls: type[Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Those options of ``Rules`` that a price-aware class has parameters for."""
    known = cls().get_params()
    return {name: value for name, value in options.items() if name in known}


def foreign(package: str) -> str | None:
    """What is wrong where ``import package`` finds another package of that name, not the one beside fsgym."""
    try:
        spec = find_spec(package)
    except ValueError:  # imported, but without a spec: a stand-in that somebody put there
        return None
    if spec is None:
        return (
            f"the package {package!r} that comes with fsgym cannot be found; install fsgym again, "
            "in an environment of its own"
        )
    folders = spec.submodule_search_locations or [""]
    found = Path(spec.origin).parent if spec.origin else Path(next(iter(folders)))
    if found.resolve().parent == HOME:
        return None
    return (
        f"the package {package!r} found at {found} is not the one that comes with fsgym; leave that folder, "
        "or give fsgym an environment of its own"
    )
