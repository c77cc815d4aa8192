"""The methods known by name. New ones: ``method_table``, entry points, ``register_method``."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from fsgym.methods.table import METHODS, Method
from fsgym.support.extras import EXTRAS, PACKAGES_FOLDER, require
from fsgym.text.messages import brief, explain_unknown

OWN_PACKAGES = ("agents", "baselines")
ENTRY_POINTS = "fsgym.methods"  # the group in which other distributions declare methods
DEFAULT_METHODS = ("adaptive", "rcpi", "panel", "stopping", "l1_svm", "cart")
DEFAULT_AGENT = "adaptive"
PANEL, CONSTANT = "panel", "constant"  # one fixed set of acquisitions for all cases; one answer with nothing acquired
REFERENCES = (CONSTANT, "everything")  # the two ends that any method is compared with


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
        True: it has a parameter ``lam`` and is trained at several values of it. False: it has
        ``sparsity_grid(X, y) -> list of dict``, which returns its settings, from no feature to all features. If the
        first of them may use a feature on other rows, an attribute ``empty_setting``, a dict of parameters that uses
        none on any rows, adds this setting. In both cases it receives those options of ``Rules`` for which it has
        parameters, such as ``costs``; with ``sparsity_grid`` neither ``lam`` nor ``groups``.
    reference : str
        Its authors and year.
    preset : mapping, optional
        Parameters that are the same in all settings.
    extra : str, optional
        The optional dependencies that it needs, a key of ``fsgym.support.extras.EXTRAS``.
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
        raise ValueError(f"name must be a word without commas or spaces, got {brief(name)}")
    if name in METHODS:
        raise ValueError(f"the method {name!r} exists already; choose another name")
    if extra and extra not in EXTRAS:
        raise ValueError(f"extra must be one of {', '.join(EXTRAS)}, got {brief(extra)}")
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
    raise TypeError(f"the estimator of the method {name!r} must be a class or 'module:Class', got {brief(estimator)}")


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


def import_conflict(package: str) -> str | None:
    """An error message if ``import package`` would not import the package that comes with fsgym; None if it would."""
    try:
        spec = find_spec(package)
    except ValueError:  # imported without a spec: a replacement in sys.modules
        return None
    if spec is None:
        return (
            f"the package {package!r} that comes with fsgym cannot be found; install fsgym again, "
            "in an environment of its own"
        )
    folders = spec.submodule_search_locations or [""]
    folder = Path(spec.origin).parent if spec.origin else Path(next(iter(folders)))
    if folder.resolve().parent == PACKAGES_FOLDER:
        return None
    return (
        f"the package {package!r} found at {folder} is not the one that comes with fsgym; run from another folder, "
        "or install fsgym in an environment of its own"
    )


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
    """Those of the given options of ``Rules`` for which a class has parameters.

    A class that takes prices, but no relation between acquisitions, is told the larger one of the two prices of an
    acquisition, so that it is charged no more than it was told.

    >>> from baselines import CEGBClassifier
    >>> related = {"costs": [1.0, 2.0], "unrelated_costs": [3.0, 3.0], "related": [[False, True], [True, False]]}
    >>> supported_options(CEGBClassifier, related)
    {'costs': [3.0, 3.0]}
    """
    parameters = cls().get_params()
    supported = {name: value for name, value in options.items() if name in parameters}
    apart = options.get("unrelated_costs")
    if "costs" in supported and "unrelated_costs" not in parameters and not isinstance(apart, str | None):
        near = supported["costs"] or [1.0] * len(apart)  # none: all cost 1
        supported["costs"] = [max(prices) for prices in zip(near, apart, strict=True)]
    return supported


def methods_table() -> str:
    """The table of methods in Markdown that ``.ci/tables.py`` writes into the site's pages."""
    rows = ["| method | class | adaptive per case? | knows prices? | features it uses | source |"]
    rows += ["| --- | --- | --- | --- | --- | --- |"]
    for name, m in METHODS.items():
        cls = m.estimator.replace(":", ".") if isinstance(m.estimator, str) else m.estimator.__name__
        uses = m.uses + (f"; needs the extra `{m.extra}`" if m.extra else "")
        yes = [("yes" if v else "no") for v in (m.adaptive, m.prices)]
        rows.append(f"| [`{name}`](index.md#{name}) | `{cls}` | {yes[0]} | {yes[1]} | {uses} | {m.reference} |")
    return "\n".join(rows) + "\n"
