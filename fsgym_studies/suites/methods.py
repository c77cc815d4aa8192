"""The methods of a benchmark: by name, and the user's own, with the settings at which they are fitted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from agents.deep.algorithms import find_algorithm
from fsgym.comparison.compared import ComparedMethod, compared_methods
from fsgym.comparison.protocol import make_protocol
from fsgym.data.dataset import Dataset
from fsgym.methods import REFERENCES, find_method, load_class
from fsgym.support.extras import EXTRAS, require
from fsgym_studies.suites.scores import version_of_rows

SLOW_METHODS = ("maskable_ppo",)  # run only if named
NEURAL = ("gdfs", "dime")  # those of ``baselines.neural``
BENCHMARK_METHODS = ("adaptive", "lattice", "mixture", "rcpi", "cegb", "panel", "stopping", "cart", "gdfs", "dime")


def has_prices(method: ComparedMethod, prices: tuple[float, ...]) -> bool:
    """Whether a method has a candidate per price; else the loss on validation rows chooses a setting at each."""
    return [p.get("lam") for p in method.params] == list(prices)


@dataclass(frozen=True)
class SuiteMethods:
    """The methods that take part."""

    names: tuple[str, ...]  # names of methods
    # mapping name -> estimator, list of estimators, or factory ``train(env) -> policy``, the user's methods
    own: Mapping[str, Any]
    # mapping title -> reason, methods that are left out because an optional dependency is missing
    unavailable: Mapping[str, str]
    first_run: tuple[str, ...] = ()  # names of further methods that are made on the first run of each data set only
    # names of the methods of the suite, of which those that are not made are named
    usual: tuple[str, ...] = (*BENCHMARK_METHODS, *SLOW_METHODS)

    @property
    def focus(self) -> str:
        """The title of the method whose place is given: the first of the user's, otherwise the first by name."""
        return next(iter(self.own), "") or find_method(self.names[0]).title

    @property
    def all_names(self) -> tuple[str, ...]:
        """The names of the methods of all runs, and of those of the first run."""
        return (*self.names, *self.first_run)

    @property
    def names_by_title(self) -> dict[str, str]:
        """The name of each method that is no reference point, by its title; the user's are called as they are."""
        return {find_method(name).title: name for name in self.all_names} | {name: name for name in self.own}

    @property
    def reference_points(self) -> list[str]:
        """The titles of the two reference points, as far as they were not asked for: they are no competitors."""
        return [find_method(name).title for name in REFERENCES if name not in self.all_names]

    @property
    def omitted(self) -> list[str]:
        """The titles of the suites' methods that were not asked for."""
        titles = [find_method(m).title for m in self.usual if m not in self.all_names]
        return [title for title in titles if title not in self.unavailable]

    @property
    def readings(self) -> list[str]:
        """Sentences that say which reading of its paper a method is, where there are several, and training steps."""
        methods = [find_method(name) for name in self.all_names]
        own = f"fsgym {version_of_rows()}"  # defaults differ by version
        readings = [f"{m.title}: {m.reading.replace('this library', own)}." for m in methods if m.reading]
        return [*readings, *self.lengths.values(), *self.neural]

    @property
    def neural(self) -> list[str]:
        """A sentence on how the methods with a chooser and a predictor are trained; [] where there is none."""
        names = [name for name in self.all_names if name in NEURAL]
        if not names:
            return []
        from baselines.neural.classifier import HELD_OUT_PARTS, MAX_ACQUISITIONS

        titles = " and ".join(find_method(name).title for name in names)
        epochs = load_class(find_method(names[0]))().n_epochs
        return [
            f"{titles} train once, on {HELD_OUT_PARTS - 1} of {HELD_OUT_PARTS} parts of the rows, for up to "
            f"{MAX_ACQUISITIONS} acquisitions and {epochs} passes at each temperature or in each round; the last part "
            "ends the training, and chooses for each price when to stop."
        ]

    @property
    def lengths(self) -> dict[str, str]:
        """A sentence that says how long a deep agent is trained, by its title."""
        methods = [method for method in map(find_method, self.all_names) if method.extra == "rl"]
        steps = {method.title: find_algorithm(method.preset["algorithm"]).total_timesteps for method in methods}
        return {title: f"{title}: {n:,} training steps at each price." for title, n in steps.items()}

    @property
    def versions(self) -> dict[str, str]:
        """The versions of the optional dependencies that the methods by name need."""
        extras = [extra for name in self.all_names if (extra := find_method(name).extra)]
        return {package: version(package) for extra in extras for package in EXTRAS[extra]}

    def settings(
        self, train: Dataset, prices: tuple[float, ...], rules: Mapping[str, Any]
    ) -> tuple[ComparedMethod, ...]:
        """The methods on a problem, with the two references, and settings from these training rows."""
        own = {name: _at_prices(given, prices) for name, given in self.own.items()}
        named = {name: name for name in (*self.all_names, *REFERENCES)}
        options: Any = dict(rules)
        protocol = make_protocol(train, splits=1, train_share=0.75, seed=0, lam=prices, options=options)
        return compared_methods({**named, **own}, protocol)


def chosen_methods(
    names: tuple[str, ...] | None,
    own: Mapping[str, Any],
    first_run: tuple[str, ...] = (),
    default: tuple[str, ...] = (),
) -> SuiteMethods:
    """The methods by name, by default those of the suite or ``BENCHMARK_METHODS``, the user's, those of the first run.

    Of the default methods, those whose optional dependencies are missing are left out, with the reason.

    Raises
    ------
    ValueError, ImportError
        For an unknown name, a name that stands twice, or a method that was named and needs what is not installed.
    """
    given, asked = (*(names or ()), *first_run), (default or BENCHMARK_METHODS) if names is None else names
    twice = [name for name in given if (*asked, *first_run).count(name) > 1 or name in own]
    if twice:
        raise ValueError(f"each method needs a name of its own, got {twice[0]!r} twice; leave one of them out")
    unavailable: dict[str, str] = {}
    for name in (*asked, *first_run):
        method = find_method(name)
        try:
            if method.extra:
                require(method.extra, method.title)
        except ImportError as error:
            if name in given:
                raise
            unavailable[method.title] = str(error)
    available = tuple(name for name in asked if find_method(name).title not in unavailable)
    return SuiteMethods(available, dict(own), unavailable, first_run, default or SuiteMethods.usual)


def _at_prices(given: Any, prices: tuple[float, ...]) -> Any:
    """An estimator with a parameter ``lam`` at each price; anything else as it is."""
    if hasattr(given, "get_params") and not isinstance(given, type) and "lam" in given.get_params(deep=False):
        from sklearn.base import clone

        return [clone(given).set_params(lam=price) for price in prices]
    return given
