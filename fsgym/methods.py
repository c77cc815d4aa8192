"""The methods known by name. A new one is an entry in ``METHODS``, an entry point or a ``register_method`` call."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points
from types import MappingProxyType
from typing import Any, NamedTuple

from fsgym.checks import explain_unknown
from fsgym.extras import EXTRAS, import_conflict, require

OWN_PACKAGES = ("agents", "baselines")
ENTRY_POINTS = "fsgym.methods"  # the group in which other distributions declare methods
DEFAULT_METHODS = ("lattice", "rcpi", "panel", "stopping", "l1_svm", "cart")
DEFAULT_AGENT = "lattice"
PANEL, CONSTANT = "panel", "constant"  # one fixed set of acquisitions for all cases; one answer with nothing acquired
REFERENCES = (CONSTANT, "everything")  # the two ends that any method is compared with


class Method(NamedTuple):
    """A method that can be compared by name.

    Attributes
    ----------
    title : str, its name in figures and tables
    estimator : str or class
        ``"module:Class"``, imported when the method is used, or the class itself.
    prices : bool
        True: it takes prices into account in training. It is trained at several values of its parameter ``lam``, and
        receives those options of ``Rules`` for which it has parameters. It does not know the other options, so it may
        violate them (be inadmissible). False: it ignores prices; its class provides its settings with
        ``sparsity_grid(X, y) -> list of dict``.
    reference : str, its authors and year
    adaptive : bool, whether the features that it uses depend on the values of the case
    uses : str, which features it uses, in a few words
    preset : mapping, parameters of its class that define this method
    extra : str, the optional dependencies that it needs, a key of ``fsgym.extras.EXTRAS``; "" for none
    kind : str, the kind of the model files that its class writes with ``save``; "" if it writes none
    """

    title: str
    estimator: str | type
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
        "the features that its policy acquires",
        kind="lattice",
    ),
    "mixture": Method(
        "Mixture policy",
        "agents:MixtureClassifier",
        True,
        "after Longstaff and Schwartz (2001)",
        True,
        "the features that its policy acquires",
        kind="mixture",
    ),
    "adaptive": Method(
        "Best of the learners",
        "agents:AdaptiveClassifier",
        True,
        "",
        True,
        "the features that its policy acquires; the lattice, the mixture or the network, chosen on held-out rows",
        kind="adaptive",
    ),
    "rcpi": Method(
        "RCPI (datum-wise)",
        "agents:DatumWiseClassifier",
        True,
        "Dulac-Arnold, Denoyer, Preux and Gallinari (2012)",
        True,
        "the features that its linear policy acquires",
        kind="linear",
    ),
    "l1_svm": Method(
        "L1-SVM",
        "baselines:L1SVMClassifier",
        False,
        "Fan, Chang, Hsieh, Wang and Lin (2008), LIBLINEAR",
        uses="the features with a non-zero weight",
    ),
    "lars": Method(
        "LARS / lasso path",
        "baselines:LassoPathClassifier",
        False,
        "Efron, Hastie, Johnstone and Tibshirani (2004)",
        uses="the features with a non-zero weight",
    ),
    "cart": Method(
        "CART",
        "baselines:CARTClassifier",
        False,
        "Breiman, Friedman, Olshen and Stone (1984)",
        True,
        "the features on the case's path through a pruned tree",
    ),
    "cegb": Method(
        "CEGB (LightGBM)",
        "baselines:CEGBClassifier",
        True,
        "Peter, Diego, Hamprecht and Nadler (2017)",
        True,
        "the features on the case's paths through LightGBM's trees, trained with a price per acquired value",
        extra="cegb",
    ),
    "maskable_ppo": Method(
        "MaskablePPO",
        "agents:SB3Classifier",
        True,
        "Huang and Ontañón (2022)",
        True,
        "the features that its policy network acquires",
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
        "the features that its network acquires; deep Q-learning restricted to legal actions",
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
        "the features on the case's paths through boosted trees; training penalises the first use of each feature",
    ),
    "lufe": Method(
        "LUFe",
        "baselines:LUFeClassifier",
        False,
        "Taylor, Sharmanska, Kersting, Weir and Quadrianto (2016)",
        uses="the selected features; the others are used in training only",
    ),
    "uncertain_sgl": Method(
        "Uncertain SGL + HIK-SVM",
        "baselines:UncertainHIKClassifier",
        False,
        "Xie and Xu (2013)",
        uses="the features of which at least one random draw around the value is selected",
    ),
    "hkl": Method(
        "HKL disjunctions",
        "baselines:DisjunctionClassifier",
        False,
        "Bach (2009); Jawanpuria, Nath and Ramakrishnan (2015)",
        uses="the features in the selected rules",
    ),
    "l1_logistic": Method(
        "L1 logistic regression",
        "baselines:L1LogisticClassifier",
        False,
        "Lee, Lee, Abbeel and Ng (2006)",
        uses="the features with a non-zero weight",
    ),
    "group_lasso": Method(
        "Group LASSO logistic",
        "baselines:GroupLassoClassifier",
        False,
        "Meier, van de Geer and Bühlmann (2008)",
        uses="the groups of features with non-zero weights",
    ),
    "forest": Method(
        "Random forest selection",
        "baselines:ForestSelectionClassifier",
        False,
        "Breiman (2001)",
        uses="the features that a random forest ranks as most important",
    ),
    "mrmr": Method(
        "mRMR + SVM",
        "baselines:MRMRClassifier",
        False,
        "Peng, Long and Ding (2005)",
        uses="the features selected by mutual information",
    ),
    "hsic_lasso": Method(
        "HSIC Lasso + SVM",
        "baselines:HSICLassoClassifier",
        False,
        "Yamada, Jitkrittum, Sigal, Xing and Sugiyama (2014)",
        uses="the features whose kernels enter the lasso path first",
    ),
    "panel": Method(
        "Fixed panel",
        "baselines:PanelClassifier",
        True,
        "forward selection; Guyon and Elisseeff (2003)",
        uses="one set of acquisitions for all cases, selected by validated loss",
    ),
    "stopping": Method(
        "Learnt stopping",
        "baselines:StoppingClassifier",
        True,
        "after Longstaff and Schwartz (2001)",
        True,
        "the first acquisitions in the order of the panel, until a learnt rule stops",
    ),
    "constant": Method(
        "Constant answer",
        "baselines:ConstantClassifier",
        False,
        uses="none: the answer of least expected cost",
    ),
    "everything": Method(
        "All features",
        "baselines:EverythingClassifier",
        False,
        "logistic regression; random forest, Breiman (2001)",
        uses="all features, with a logistic regression or a random forest",
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
    """Register a method of your own under a name for ``fsgym.compare``, in this process.

    To register a method for all processes, including the command line, declare an entry point in your distribution:
    ``name = "module:Class"`` or ``name = "module:METHOD"`` (a ``fsgym.methods.Method``) in the group ``fsgym.methods``.

    Parameters
    ----------
    name : str
        A new name.
    estimator : class or "module:Class"
        A scikit-learn classifier with ``features_used(X) -> bool (n_samples, n_features)``.
    title : str, default: the name
        Its name in tables and figures.
    prices : bool, default False
        True: it has a parameter ``lam`` and is trained at several values of it; it also receives those options of
        ``Rules`` for which it has parameters. False: it has ``sparsity_grid(X, y) -> list of dict``, which returns its
        settings, from no feature to all features. If the first of them may use a feature on other rows, an attribute
        ``empty_setting``, a dict of parameters that uses none on any rows, adds this setting.
    reference : str
        Its authors and year.
    preset : mapping, optional
        Parameters that are the same in all settings.
    extra : str, optional
        The optional dependencies that it needs, a key of ``fsgym.extras.EXTRAS``.
    kind : str, optional
        The kind of its model files. Needed only if ``estimator`` is a string; for a class, ``policy_class.kind`` is
        used.

    Raises
    ------
    ValueError, TypeError
        If the name is invalid or already registered, ``extra`` is unknown, or ``estimator`` is neither such a class nor
        a string ``"module:Class"``.

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
        kind=kind or model_kind_of(estimator),
    )


def model_kind_of(estimator: Any) -> str:
    """The kind of the model files of an agent's class, ``policy_class.kind``; "" for any other class."""
    return getattr(getattr(estimator, "policy_class", None), "kind", "")


def check_estimator_class(name: str, estimator: Any) -> None:
    """TypeError unless ``estimator`` is ``"module:Class"`` or a classifier class with ``features_used``."""
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
    """All names: those of ``METHODS``, then those of other distributions. Nothing is imported."""
    return list(dict.fromkeys([*METHODS, *(point.name for point in _entry_points())]))


def find_method(name: str) -> Method:
    """The method of that name; ValueError with a suggestion if there is none.

    A method of another distribution is loaded at its first use; ImportError if that fails.
    """
    if name not in METHODS:
        for point in _entry_points():
            if point.name == name:
                METHODS[name] = _load_entry_point(point)
                break
        else:
            raise ValueError(explain_unknown("method", name, method_names()))
    return METHODS[name]


def _entry_points() -> list[EntryPoint]:
    return [*entry_points(group=ENTRY_POINTS)]


def _load_entry_point(point: EntryPoint) -> Method:
    """The method of an entry point: a ``Method``, or a class (with ``prices=True`` unless it has ``sparsity_grid``)."""
    try:
        loaded = point.load()
    except Exception as error:
        reason = " ".join(str(error).split())[:200]
        raise ImportError(f"the method {point.name!r} ({point.value}) cannot be loaded: {reason}") from None
    if isinstance(loaded, Method):
        return loaded
    check_estimator_class(point.name, loaded)
    return Method(point.name, loaded, not hasattr(loaded, "sparsity_grid"), kind=model_kind_of(loaded))


def load_class(method: Method) -> type[Any]:
    """The class of a method, checked for what a comparison needs.

    Raises ImportError if another package has the same name or an optional dependency is missing, TypeError if the class
    has neither ``lam`` nor ``sparsity_grid``.
    """
    if method.extra:
        require(method.extra, method.title)
    cls = class_of(method)
    if method.prices and "lam" not in cls().get_params():
        raise TypeError(f"{method.title} has prices=True, but {cls.__name__} has no parameter lam")
    if not method.prices and not hasattr(cls, "sparsity_grid"):
        raise TypeError(
            f"{method.title} must have sparsity_grid(X, y) -> list of dict, its settings from no feature to all, or be "
            f"registered with prices=True and have a parameter lam; {cls.__name__} has no sparsity_grid"
        )
    return cls


def class_of(method: Method) -> type[Any]:
    """The class of a method, without the checks of ``load_class``: an extra needed for training may be missing."""
    if isinstance(method.estimator, type):
        return method.estimator
    module, _, name = method.estimator.partition(":")
    package = module.partition(".")[0]
    conflict = import_conflict(package) if package in OWN_PACKAGES else None
    if conflict:
        raise ImportError(conflict)
    try:
        return getattr(importlib.import_module(module), name)
    except (AttributeError, ModuleNotFoundError) as error:
        raise ImportError(f"{method.title}: {method.estimator!r} cannot be imported: {error}") from None


def supported_options(cls: type[Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the given options of ``Rules`` for which a class has parameters."""
    parameters = cls().get_params()
    return {name: value for name, value in options.items() if name in parameters}


def methods_table() -> str:
    """The table of methods in Markdown that ``.ci/tables.py`` writes into the README."""
    rows = ["| method | class | adaptive per case? | knows prices? | features it uses | source |"]
    rows += ["| --- | --- | --- | --- | --- | --- |"]
    for name, m in METHODS.items():
        cls = m.estimator.replace(":", ".") if isinstance(m.estimator, str) else m.estimator.__name__
        uses = m.uses + (f"; needs the extra `{m.extra}`" if m.extra else "")
        yes = [("yes" if v else "no") for v in (m.adaptive, m.prices)]
        rows.append(f"| `{name}` | `{cls}` | {yes[0]} | {yes[1]} | {uses} | {m.reference} |")
    return "\n".join(rows) + "\n"
