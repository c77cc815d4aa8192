"""The methods that can be compared by name. A new one is an entry in ``METHODS``, or a call from outside."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from fsgym.checks import unknown
from fsgym.extras import EXTRAS, require

HOME = Path(__file__).resolve().parent.parent
OWN_PACKAGES = ("agents", "baselines")
ENTRY_POINTS = "fsgym.methods"  # the group in which other distributions name methods of theirs
DEFAULT_METHODS = ("lattice", "rcpi", "l1_svm", "lars", "cart")
DEFAULT_AGENT = "lattice"


class Method(NamedTuple):
    """How a method is found and swept.

    Attributes
    ----------
    title : str, what figures and tables call it
    where : str or class
        ``"module:Class"``, imported when the method is used, or the class.
    prices : bool
        True: it plans with prices. It is swept over ``lam`` and given those rules of the comparison that it has
        parameters for; what it has none for, it cannot plan with, and may come out inadmissible.
        False: it knows no price, and its class lays out its own settings with ``sparsity_grid(X, y) -> list of dict``.
    reference : str, who described it
    adaptive : bool, whether the features it uses depend on the values of the case
    uses : str, which features it uses, in a few words
    preset : mapping, parameters of its class that make it this method
    extra : str, what must be installed for it, a key of ``fsgym.extras.EXTRAS``; "" for nothing
    kind : str, the kind of the model files that its class writes with ``save``; "" where it writes none
    """

    title: str
    where: str | type
    prices: bool
    reference: str = ""
    adaptive: bool = False
    uses: str = ""
    preset: Mapping[str, Any] = MappingProxyType({})
    extra: str = ""
    kind: str = ""


METHODS: dict[str, Method] = {
    "lattice": Method(
        "Lattice policy iteration",
        "agents:LatticeClassifier",
        True,
        "after Dulac-Arnold, Denoyer, Preux and Gallinari (2012)",
        True,
        "what its policy acquires; each subset of the features has a classifier of its own",
        kind="lattice",
    ),
    "rcpi": Method(
        "RCPI (datum-wise)",
        "agents:DatumWiseClassifier",
        True,
        "Dulac-Arnold, Denoyer, Preux and Gallinari (2012)",
        True,
        "what its linear policy acquires",
        kind="linear",
    ),
    "l1_svm": Method(
        "L1-SVM",
        "baselines:L1SVMClassifier",
        False,
        "Fan, Chang, Hsieh, Wang and Lin (2008), LIBLINEAR",
        uses="the features with a weight",
    ),
    "lars": Method(
        "LARS / lasso path",
        "baselines:LassoPathClassifier",
        False,
        "Efron, Hastie, Johnstone and Tibshirani (2004)",
        uses="the features with a weight",
    ),
    "cart": Method(
        "CART",
        "baselines:CARTClassifier",
        False,
        "Breiman, Friedman, Olshen and Stone (1984)",
        True,
        "the features on its path through a pruned tree",
    ),
    "cegb": Method(
        "CEGB (LightGBM)",
        "baselines:CEGBClassifier",
        True,
        "Peter, Diego, Hamprecht and Nadler (2017)",
        True,
        "the features on its paths through LightGBM's trees, which pay for every new value",
        extra="cegb",
    ),
    "maskable_ppo": Method(
        "MaskablePPO",
        "agents:SB3Classifier",
        True,
        "Huang and Ontañón (2022)",
        True,
        "what its network acquires",
        {"algorithm": "maskable_ppo"},
        "rl",
        "network",
    ),
    "dqn": Method(
        "Masked DQN",
        "agents:SB3Classifier",
        True,
        "Mnih et al. (2015), van Hasselt, Guez and Silver (2016)",
        True,
        "what its network acquires; deep Q-learning over legal actions",
        {"algorithm": "dqn"},
        "rl",
        "network",
    ),
    "gbfs": Method(
        "GBFS",
        "baselines:GBFSClassifier",
        False,
        "Xu, Huang, Weinberger and Zheng (2014)",
        True,
        "the features on its paths through boosted trees, which pay once for each feature",
    ),
    "lufe": Method(
        "LUFe",
        "baselines:LUFeClassifier",
        False,
        "Taylor, Sharmanska, Kersting, Weir and Quadrianto (2016)",
        uses="the selected features; training uses the others too",
    ),
    "uncertain_sgl": Method(
        "Uncertain SGL + HIK-SVM",
        "baselines:UncertainHIKClassifier",
        False,
        "Xie and Xu (2013)",
        uses="the features of which a sub-feature is kept",
    ),
    "hkl": Method(
        "HKL disjunctions",
        "baselines:DisjunctionClassifier",
        False,
        "Bach (2009); Jawanpuria, Nath and Ramakrishnan (2015)",
        uses="the features in the rules that are kept",
    ),
    "l1_logistic": Method(
        "L1 logistic regression",
        "baselines:L1LogisticClassifier",
        False,
        "Lee, Lee, Abbeel and Ng (2006)",
        uses="the features with a weight",
    ),
    "group_lasso": Method(
        "Group LASSO logistic",
        "baselines:GroupLassoClassifier",
        False,
        "Meier, van de Geer and Bühlmann (2008)",
        uses="the groups of features with a weight",
    ),
    "forest": Method(
        "Random forest selection",
        "baselines:ForestSelectionClassifier",
        False,
        "Breiman (2001)",
        uses="the features that a forest ranks first",
    ),
    "mrmr": Method(
        "mRMR + SVM",
        "baselines:MRMRClassifier",
        False,
        "Peng, Long and Ding (2005)",
        uses="features chosen by mutual information",
    ),
    "hsic_lasso": Method(
        "HSIC Lasso + SVM",
        "baselines:HSICLassoClassifier",
        False,
        "Yamada, Jitkrittum, Sigal, Xing and Sugiyama (2014)",
        uses="the features whose kernels enter first",
    ),
}


def register_method(
    name: str,
    estimator: str | type,
    *,
    title: str = "",
    prices: bool = False,
    reference: str = "",
    preset: Mapping[str, Any] | None = None,
    extra: str = "",
    kind: str = "",
) -> None:
    """Make a method of your own known by name to ``fsgym.compare`` in this process.

    A distribution does the same for every process, the command line included, with an entry point: ``name =
    "module:Class"``, or ``name = "module:METHOD"`` of a ``fsgym.methods.Method``, in the group ``fsgym.methods``.

    Parameters
    ----------
    name : str
        A new name.
    estimator : class or "module:Class"
        A scikit-learn classifier with ``features_used(X) -> bool (n_samples, n_features)``.
    title : str, default: the name
        What tables and figures call it.
    prices : bool, default False
        True: it has a parameter ``lam`` and is swept over it; those options of ``Rules`` that it has parameters for are
        given to it. False: it has ``sparsity_grid(X, y) -> list of dict``, its settings from none to all features.
    reference : str
        Who described it.
    preset : mapping, optional
        Parameters that are the same in all settings.
    extra : str, optional
        What must be installed for it, a key of ``fsgym.extras.EXTRAS``.
    kind : str, optional
        Of an agent given as ``"module:Class"``: the kind of its model files. A class says it by ``policy_class.kind``.

    Raises
    ------
    ValueError, TypeError
        In one sentence, where the name is taken or the estimator is not one of these.

    Examples
    --------
    >>> import fsgym
    >>> fsgym.register_method("stump", "baselines:CARTClassifier", preset={"max_depth": 1})
    >>> from fsgym.methods import METHODS, find_method
    >>> find_method("stump").title
    'stump'
    >>> del METHODS["stump"]
    """
    if not isinstance(name, str) or not name or any(c in name for c in ", \n"):
        raise ValueError(f"name must be a word without commas or spaces, got {name!r}")
    if name in METHODS:
        raise ValueError(f"the method {name!r} exists already; choose another name")
    if extra and extra not in EXTRAS:
        raise ValueError(f"extra must be one of {', '.join(EXTRAS)}, got {extra!r}")
    check_estimator_class(name, estimator)
    METHODS[name] = Method(
        title or name,
        estimator,
        bool(prices),
        reference,
        preset=dict(preset or {}),
        extra=extra,
        kind=kind or kind_of(estimator),
    )


def kind_of(estimator: Any) -> str:
    """The kind of the model files of an agent's class, which is that of its policy; "" for any other class."""
    return getattr(getattr(estimator, "policy_class", None), "kind", "")


def check_estimator_class(name: str, estimator: Any) -> None:
    """TypeError in one sentence unless it is ``"module:Class"`` or a class that says which features it uses."""
    if isinstance(estimator, str):
        if all(estimator.partition(":")):
            return
    elif isinstance(estimator, type):
        missing = [a for a in ("fit", "predict", "get_params", "features_used") if not hasattr(estimator, a)]
        if not missing:
            return
        raise TypeError(
            f"the class of the method {name!r} must be a scikit-learn classifier with features_used(X), but "
            f"{estimator.__name__} has no {missing[0]}"
        )
    raise TypeError(f"the estimator of the method {name!r} must be a class or 'module:Class', got {estimator!r}")


def method_names() -> list[str]:
    """All names: the table's, then those of other distributions. Nothing is imported."""
    return list(dict.fromkeys([*METHODS, *(point.name for point in _points())]))


def find_method(name: str) -> Method:
    """The method of that name; ValueError with a suggestion where there is none.

    A method of another distribution is loaded when it is first asked for; ImportError in one sentence where that fails.
    """
    if name not in METHODS:
        for point in _points():
            if point.name == name:
                METHODS[name] = _loaded(point)
                break
        else:
            raise ValueError(unknown("method", name, method_names()))
    return METHODS[name]


def _points() -> list[EntryPoint]:
    return [*entry_points(group=ENTRY_POINTS)]


def _loaded(point: EntryPoint) -> Method:
    """What an entry point names: a ``Method``, or a class (which plans with prices unless it has ``sparsity_grid``)."""
    try:
        found = point.load()
    except Exception as error:
        said = " ".join(str(error).split())[:200]
        raise ImportError(f"the method {point.name!r} ({point.value}) cannot be loaded: {said}") from None
    if isinstance(found, Method):
        return found
    check_estimator_class(point.name, found)
    return Method(point.name, found, not hasattr(found, "sparsity_grid"), kind=kind_of(found))


def load_class(method: Method) -> type[Any]:
    """The class of a method, which has what a comparison needs of it.

    Raises ImportError in one sentence where another package is in the way or an extra is missing, TypeError where the
    class has no settings.
    """
    if method.extra:
        require(method.extra, method.title)
    cls = class_of(method)
    if method.prices and "lam" not in cls().get_params():
        raise TypeError(f"{method.title} plans with prices, but {cls.__name__} has no parameter lam")
    if not method.prices and not hasattr(cls, "sparsity_grid"):
        raise TypeError(
            f"{method.title} must have sparsity_grid(X, y) -> list of dict, its settings from no feature to all; or, "
            f"with prices=True, a parameter lam; {cls.__name__} has neither"
        )
    return cls


def class_of(method: Method) -> type[Any]:
    """As ``load_class``, where what the method needs to be fitted may be missing."""
    if isinstance(method.where, type):
        return method.where
    module, _, name = method.where.partition(":")
    package = module.partition(".")[0]
    conflict = import_conflict(package) if package in OWN_PACKAGES else None
    if conflict:
        raise ImportError(conflict)
    try:
        return getattr(importlib.import_module(module), name)
    except (AttributeError, ModuleNotFoundError) as error:
        raise ImportError(f"{method.title}: {method.where!r} cannot be imported: {error}") from None


def planned_with(cls: type[Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Those options of ``Rules`` that a price-aware class has parameters for."""
    known = cls().get_params()
    return {name: value for name, value in options.items() if name in known}


def methods_table() -> str:
    """The methods of this project as a table in Markdown, as the README has it."""
    rows = ["| method | class | adapts to the case | plans with prices | features it uses | source |"]
    rows += ["| --- | --- | --- | --- | --- | --- |"]
    for name, m in METHODS.items():
        where = m.where.replace(":", ".") if isinstance(m.where, str) else m.where.__name__
        uses = m.uses + (f"; needs the extra `{m.extra}`" if m.extra else "")
        yes = [("yes" if v else "no") for v in (m.adaptive, m.prices)]
        rows.append(f"| `{name}` | `{where}` | {yes[0]} | {yes[1]} | {uses} | {m.reference} |")
    return "\n".join(rows) + "\n"


def import_conflict(package: str) -> str | None:
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
