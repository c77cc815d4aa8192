"""The base class of the classifiers of all agents: rules from parameters, predictions, usage, model files."""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from typing import Any, ClassVar, Self, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from agents import model_file
from agents.arrangement import Arrangement
from agents.asking import AskingAgent
from agents.certain import CertainPolicy, check_probabilities, record_paths
from agents.inputs import (
    as_frame,
    check_labels,
    check_two_classes,
    dataset_of_frame,
    has_names,
    in_words,
    plain_labels,
    same_kind,
)
from agents.loss_estimate import LossEstimate, estimate_loss
from agents.policy import Policy, check_rows
from fsgym.data.blocks import Blocks
from fsgym.data.case_costs import are_mean_prices, check_case_prices, price_ranges, prices_of_case
from fsgym.data.checks import check_groups, default_names, is_frame, refuse_missing_labels
from fsgym.data.columns import MISSING_COLUMNS, Columns, MissingColumns
from fsgym.data.dataset import Dataset, RowOrigin
from fsgym.data.targets import Bins, mean_loss
from fsgym.data.training_summary import Comparison, Difference, TrainingSummary, unmatched_cells
from fsgym.envs.trajectories import EpisodeTable, Trajectories
from fsgym.evaluation.calibrate import (
    CalibrationRows,
    TrainedRows,
    calibration_rows,
    check_targets,
    has_rows,
    make_promise,
    without_rows,
)
from fsgym.evaluation.promise import Promise, RuleAlone
from fsgym.metrics import share_correct
from fsgym.rules import RuleOptions, Rules
from fsgym.rules.checks import describe_error_costs
from fsgym.rules.options import OPTIONS, set_rule_options
from fsgym.session.asked_cases import ask_cases
from fsgym.session.held_out import HeldOut, held_out_of
from fsgym.support.checks import check_choice
from fsgym.text.html import LEVELS_SHOWN, HtmlTable, acquisition_cells, error_cost_parts, html_block, options_in_words
from fsgym.text.messages import brief, counted, is_command, listing, option_text, warn_caller

# Classifiers as text, and as HTML for notebooks.

CLASSES_LISTED = 12
REPR_LENGTH = 700  # characters of a repr, as in scikit-learn
EXPECTATIONS = ("expected_cost_", "expected_n_features_")  # of agents that know what they use, out of fold


class ShownClassifier(BaseEstimator):
    """How a classifier around a policy is shown: its repr, and in notebooks."""

    def __repr__(self, N_CHAR_MAX: int = REPR_LENGTH) -> str:
        text = super().__repr__(N_CHAR_MAX)
        shown = N_CHAR_MAX
        while len(text) > N_CHAR_MAX and 50 < shown <= REPR_LENGTH:  # scikit-learn does not count spaces
            shown = 4 * shown // 5
            text = super().__repr__(shown)
        return text

    def _repr_html_inner(self) -> str:
        """What notebooks show: scikit-learn's diagram of an unfitted classifier, a table of a fitted one."""
        return model_html(self) if hasattr(self, "policy_") else super()._repr_html_inner()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] = self._repr_html_inner()
        return bundle


def model_html(model: Any) -> str:
    """A fitted classifier as HTML: its columns with prices, its classes, the costs of errors, the training."""
    others = {k: v for k, v in model.get_params(deep=False).items() if k not in {o.name for o in OPTIONS}}
    title, parts = model_parts(model)
    if model._n_training_rows is not None:  # a model file has no parameters of the training
        parts.append(f"Trained on {model._n_training_rows:,} rows with {type(model)(**others)!r}.")
    return html_block(title, *parts)


def model_parts(model: Any) -> tuple[str, list[str | HtmlTable]]:
    """A title and what is known of a fitted classifier, in sentences and tables: columns, rules, learner, promise."""
    rules, columns, classes = model.rules_, model.columns_, model.classes_.tolist()
    parts: list[str | HtmlTable] = [
        _columns_table(model),
        *(_target_parts(rules, classes) if model.bins_ is None else [_numbers_in_words(rules, model.bins_)]),
        *options_in_words(rules),
        *_expectation(model),
        *(model.report_.html_parts() if hasattr(model, "report_") else ()),
    ]
    if model.promise_ is not None:
        parts += model.promise_.sentences()
    kind = "classes" if model.bins_ is None else "bins of numbers"
    sizes = f"{counted(len(columns), 'column')}, {len(classes)} {kind}"
    return f"{type(model).__name__}: {sizes}, lambda {rules.lam:g}", parts


def _columns_table(model: Any) -> HtmlTable:
    """Kind, levels and unit of each column, and what the rules say of its acquisition."""
    rules, columns = model.rules_, model.columns_
    acquisitions = [list(dict.fromkeys(rules.acquisition_of_features[list(f)].tolist())) for f in columns.features]
    header: list[str] = ["column", "kind"]
    cells: list[Any] = [lambda k: columns[k].name, lambda k: columns[k].kind]
    if any(c.levels for c in columns):
        header.append("levels")
        cells.append(lambda k: listing(columns[k].levels, LEVELS_SHOWN))
    if any(c.unit for c in columns):
        header.append("unit")
        cells.append(lambda k: columns[k].unit)
    grouped = rules.names != columns.names
    for name, cell in acquisition_cells(rules):
        if name == "features" or (name == "acquisition" and not grouped):
            continue
        header.append("price of the acquisition" if name == "price" and grouped else name)
        cells.append(lambda k, cell=cell: _joined([cell(j) for j in acquisitions[k]]))
    return HtmlTable(header, ([cell(k) for cell in cells] for k in range(len(columns))), len(columns))


def _joined(values: list[Any]) -> Any:
    """The only value, or several as text."""
    return values[0] if len(values) == 1 else ", ".join(str(v) for v in values)


def _target_parts(rules: Any, classes: list[Any]) -> list[str | HtmlTable]:
    """The classes, and what errors cost."""
    listed = f"Classes: {listing(classes, CLASSES_LISTED)}."
    described = describe_error_costs(rules.error_costs, classes)
    table = error_cost_parts(rules, classes)
    if not described:
        return [listed, *table]
    return [listed, f"Error costs: {described}.", *(table[1:] if len(classes) > 2 else [])]


def _numbers_in_words(rules: Any, bins: Bins) -> str:
    """The bins of a numeric target, its answers, and what errors cost."""
    values, own = bins.values, bins.are_costs(rules.error_costs)
    error = f"the {bins.error.replace('_', ' ')}" if own else "other costs of errors"
    unit = f" in {bins.unit}" if bins.unit else ""
    return (
        f"Target: a number{unit}, answered by the {bins.answers}s of {bins.n_bins} bins, {values[0]:.4g} to "
        f"{values[-1]:.4g}, for {error}; bins: {listing(bins.ranges(), CLASSES_LISTED)}."
    )


def _expectation(model: Any) -> list[str]:
    """What the classifier expects to use on other rows, if it knows."""
    cost, n_features = (getattr(model, name, None) for name in EXPECTATIONS)
    if cost is None or n_features is None:
        return []
    return [f"Means over the training rows, out of fold: {n_features:.4g} features, cost {cost:.4g}."]


LOGGER = logging.getLogger("fsgym")
FLOATS = [np.float64, np.float32]  # what arrays are converted to, unless they have one of these types


class BaseAgentClassifier(ShownClassifier, ClassifierMixin, AskingAgent, BaseEstimator):
    """A classifier around a policy. ``fit`` of a subclass trains a policy; this class does the rest.

    Tables are arrays, which count by position, or DataFrames, which count by the names of their columns: the order of
    the columns has no effect, other columns are ignored, and text, categories and bools are encoded, one acquisition a
    column. ``fit`` also takes a ``Dataset``, with its names, groups, prices and units.

    Attributes
    ----------
    policy_class : type of Policy
        Class attribute: the class of ``policy_``.
    length_parameter : str
        Class attribute: the parameter that sets the length of the training, "" if there is none.
    takes_case_costs : bool
        Class attribute: whether it can plan with prices by case, see ``Dataset.case_costs``. All others refuse them.
    takes_blocks : bool
        Class attribute: whether ``fit`` takes a table in blocks, see ``fsgym.open_blocks``. All others refuse them.
    classes_ : array (n_classes,)
    bins_ : Bins, or None
        The bins of a numeric target, which are the classes 0, 1, ...; ``predict`` then returns numbers.
    n_features_in_ : int, the number of columns
    feature_names_in_ : array of str, if ``X`` had column names
    columns_ : fsgym.data.columns.Columns
        Names, kinds, levels and units of the columns, and their encoding as features.
    price_ranges_ : float64 (n_acquisitions, 2), or None
        The smallest and the largest price of each acquisition in training, where prices were by case.
    rules_ : Rules
        The rules, for the encoded features and the acquisitions in the order of ``X``; ``rules_.names`` has the names.
    policy_ : Policy
        The policy, trained on the columns in alphabetical order where they have names; see ``arrangement_``.
    arrangement_ : Arrangement
    promise_ : Promise, or None for a model that is not calibrated
        What ``calibrate`` promised, in words when printed.
    training_origin_ : fsgym.data.dataset.RowOrigin, or None for a model from a file
        Which rows of which table the classifier was fitted on.
    training_summary_ : fsgym.data.training_summary.TrainingSummary, or None for a model from a file without one
        Counts of the rows that it was fitted on, or of a sample of 4,000, with which other rows are compared.

    See Also
    --------
    agents.Policy : what such a classifier trains.

    Examples
    --------
    All agents are of this class:

    >>> from sklearn.datasets import load_wine
    >>> from agents import BaseAgentClassifier, LatticeClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> agent = LatticeClassifier(lam=0.05, random_state=0).fit(X[:, [6, 10]], y)
    >>> isinstance(agent, BaseAgentClassifier), agent.policy_.kind, agent.features_used(X[:, [6, 10]]).shape
    (True, 'lattice', (178, 2))
    """

    policy_class: ClassVar[type[Policy]]
    length_parameter: ClassVar[str] = ""
    takes_case_costs: ClassVar[bool] = False
    takes_blocks: ClassVar[bool] = False

    lam: float
    classes_: NDArray
    columns_: Columns
    rules_: Rules
    policy_: Policy
    arrangement_: Arrangement
    _n_training_rows: int | None = None  # not in model files
    training_origin_: RowOrigin | None = None
    _trained_rows: TrainedRows | None = None  # not in model files
    _training_summary: TrainingSummary | None = None  # made when it is asked for
    price_ranges_: NDArray[np.float64] | None = None
    training_data_: dict[str, Any] | None = None  # where the training data came from, for the command line
    # How it did on rows that it was not trained on, by ``train`` or ``calibrate``; and for a model with columns in
    # ``evidence_`` where it was not told what is missing.
    held_out_: HeldOut | None = None
    held_out_asked_: HeldOut | None = None
    _held_out_before: tuple[HeldOut | None, HeldOut | None] = (None, None)  # before ``calibrate``; not in model files

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _set_rule_options(self, **options: Unpack[RuleOptions]) -> None:
        """Set the options of ``Rules`` as parameters of the estimator, with their defaults where not given."""
        set_rule_options(self, options)

    def _task(self, X: Any, y: Any) -> tuple[Dataset, Rules]:
        """The data to train the policy on, and the rules that the parameters define for them."""
        dataset = self._training_data(X, y)
        rules = self._rules(dataset)
        self._arrange(dataset, rules)
        arranged = self.arrangement_.dataset(dataset)
        self._see_rows(arranged)
        return arranged, self.arrangement_.rules(rules)

    def _arrange(self, dataset: Dataset, rules: Rules) -> None:
        """Set everything that follows from the training data before the policy is trained."""
        self.__dict__.pop("training_data_", None)
        self.__dict__.pop("held_out_", None)
        self.__dict__.pop("held_out_asked_", None)
        self.classes_, self.columns_ = dataset.classes, dataset.columns.with_ranges(dataset.X)
        self.bins_ = dataset.bins
        self.price_ranges_ = None if dataset.case_costs is None else price_ranges(dataset.case_costs)
        self._n_training_rows, self.training_origin_ = dataset.n_samples, dataset.origin
        self._trained_rows = TrainedRows(dataset.X, dataset.y)
        self._chart = self._chart_rows = self._calibration_rows = self._training_summary = None
        self.arrangement_ = Arrangement.sorted_by_name(dataset, rules)
        described = describe_error_costs(rules.error_costs, self.classes_.tolist()) if self.bins_ is None else ""
        if described:
            LOGGER.info("error costs: %s", described)

    def _take_blocks(self, blocks: Blocks) -> None:
        """Count the rows of a table in blocks, of which the training data are a sample."""
        self._n_training_rows = blocks.n_samples
        if self._trained_rows is not None and blocks.sketch.n_samples < blocks.n_samples:
            self._trained_rows.share = blocks.sketch.n_samples / blocks.n_samples
            self.training_origin_ = None

    def _set_policy(self, policy: Any) -> None:
        """Set the trained policy, and its rules in the order of the user."""
        self.policy_ = policy
        self.__dict__.pop("_calibrations", None)
        self.rules_ = self.arrangement_.rules_of_user(policy.rules)

    def _rules(self, dataset: Dataset, **changes: Any) -> Rules:
        """The rules that the parameters define for the data, with some options replaced by ``changes``."""
        options = {o.name: getattr(self, o.name) for o in OPTIONS} | changes
        groups, columns = options["groups"], dataset.columns
        if groups is not None and not isinstance(groups, Mapping) and not columns.is_plain:  # positions of columns
            options["groups"] = [
                [i for k in members for i in columns.features[k]] for members in check_groups(groups, len(columns))
            ]
        return Rules.for_dataset(dataset, **options)

    def _training_data(self, X: Any, y: Any) -> Dataset:
        """The training data, checked, in the order of the user."""
        X, named = as_frame(X), False
        if isinstance(X, Dataset | Blocks):
            if y is not None:
                raise TypeError(f"y must be left out where X is a {type(X).__name__}, which has its own labels")
            if isinstance(X, Blocks) and not self.takes_blocks:
                raise TypeError(
                    f"{type(self).__name__} is fitted to rows in memory, got blocks; use AdaptiveClassifier, or fit to "
                    "blocks.sketch, a sample of the rows"
                )
            dataset = X.sketch if isinstance(X, Blocks) else X
        elif is_frame(X):
            dataset = dataset_of_frame(X, y)
            named = has_names(X)
        else:
            dataset = self._dataset_of_array(X, y)
        check_two_classes(dataset)
        self._set_names(dataset, named)
        return self._with_prices_to_plan(dataset)

    def _with_prices_to_plan(self, dataset: Dataset) -> Dataset:
        """The data, without prices by case where these are not used or all the same; ValueError if they cannot be."""
        if dataset.case_costs is None:
            return dataset
        costs, groups = (getattr(self, name, None) for name in ("costs", "groups"))
        if groups is not None:
            prices = "price 1 each" if costs is None else "the prices in costs="
            warn_caller(
                f"the model has groups= of its own and {prices}, "
                "and not the prices of the cases, case_costs; leave groups out, or give them to the data: "
                "data.with_groups(groups).replace(case_costs=...)"
            )
        elif costs is not None and not are_mean_prices(costs, dataset):
            warn_caller(
                "the model plans by costs=, and not by the prices of the cases, case_costs; leave costs out, or pass "
                "the costs of these rows, which are their means"
            )
        if costs is not None or groups is not None:
            return dataset.replace(case_costs=None)
        if (dataset.case_costs == dataset.case_costs[0]).all():
            return dataset.replace(costs=dataset.case_costs[0])
        if not self.takes_case_costs:
            remedy = "pass costs=data.costs, their means, or use AdaptiveClassifier or MixtureClassifier"
            if is_command():
                remedy = "use --agent adaptive or mixture, or leave --case-price out and --drop the columns of prices"
            raise ValueError(
                f"{type(self).__name__} plans with one price for each acquisition, but {dataset.name!r} has prices by "
                f"case; {remedy}"
            )
        return dataset

    def _set_names(self, dataset: Dataset, named: bool) -> None:
        """Set the names of the columns; names such as x0, x1 count only where a DataFrame has them: ``named``."""
        self.n_features_in_ = len(dataset.columns)
        self.__dict__.pop("feature_names_in_", None)
        if named or list(dataset.columns.names) != default_names(len(dataset.columns)):
            self.feature_names_in_ = np.array(dataset.columns.names, dtype=object)

    def _dataset_of_array(self, X: ArrayLike, y: ArrayLike) -> Dataset:
        refuse_missing_labels(y)
        try:
            with np.errstate(over="ignore", invalid="ignore"):  # the check sums all values, which may overflow
                X, y = validate_data(self, X, y, dtype=FLOATS, ensure_all_finite="allow-nan", order="C")
        except (ValueError, OverflowError) as error:
            raise in_words(error) from None
        check_labels(y)
        classes = np.unique(y)
        if len(classes) < 2:
            raise ValueError(f"y must have at least two classes, got one class only: {classes.tolist()}")
        return Dataset(X, y, classes=classes)

    def _features(self, X: Any, missing_columns: MissingColumns = "error") -> NDArray[np.float32]:
        """The features of the rows to classify, checked, float32 (n_samples, n_features) in the order of the user."""
        check_is_fitted(self, "policy_")
        if isinstance(X, Blocks):
            raise TypeError("X must be rows in memory, got Blocks; pass blocks.sketch, or one block after the other")
        if isinstance(X, str | os.PathLike):
            raise TypeError(f"X must be rows, got the path {brief(str(X))}; read it first, as with pandas.read_csv")
        X = as_frame(X)
        if is_frame(X) and not len(X):
            raise ValueError(f"X must have at least one row, got shape {X.shape}")
        has_columns = hasattr(self, "feature_names_in_")
        if isinstance(X, Dataset):
            if X.columns.encodes_like(self.columns_):
                return X.X
            X = X.to_frame() if has_columns else X.to_array()
        if is_frame(X) and has_columns and has_names(X):
            return self.columns_.encode(X, missing_columns)
        if check_choice(missing_columns, option_text("missing_columns"), *MISSING_COLUMNS) != "error":
            raise ValueError(
                f"{option_text('missing_columns', missing_columns)} needs a table with names, and a model fitted on "
                "such a table"
            )
        if is_frame(X) and not has_names(X) and X.shape[1] == len(self.columns_):
            return self.columns_.encode(X.set_axis(self.columns_.names, axis=1))
        if all(column.kind == "number" for column in self.columns_):
            return self._numbers(X)
        rows = validate_data(self, X, reset=False, dtype=None, ensure_all_finite=False)
        import pandas as pd

        return self.columns_.encode(pd.DataFrame(rows, columns=list(self.columns_.names)))

    def _numbers(self, X: Any) -> NDArray[np.float32]:
        """The features of an array (n_samples, n_features) of numbers, checked."""
        offsets = self.columns_.offsets
        dtype = np.float64 if offsets.any() else np.float32
        with np.errstate(over="ignore", invalid="ignore"):
            rows = validate_data(self, X, reset=False, dtype=dtype, ensure_all_finite="allow-nan", order="C")
            if dtype == np.float32:
                return rows
            return check_array((rows - offsets).astype(np.float32), ensure_all_finite="allow-nan", input_name="X")

    def labelled_dataset(self, X: Any, y: Any = None, missing_columns: MissingColumns = "error") -> Dataset:
        """Rows with labels as a data set with the columns and classes of the training data, as ``evaluate`` needs it.

        Parameters
        ----------
        X : array, DataFrame or Dataset, as in ``predict``
        y : array-like of shape (n_samples,), the labels or numbers; None for a ``Dataset``
        missing_columns : {"error", "unavailable"}
            As in ``predict``.

        Raises
        ------
        ValueError, TypeError
            If labels are missing, or not among ``classes_``.
        """
        features = self._features(X, missing_columns)
        name, row_groups, priced = "data", None, dict[str, Any]()
        if isinstance(X, Dataset):
            if y is not None:
                raise TypeError("y must be left out where X is a Dataset, which has its own labels")
            y, name, row_groups = X.target, X.name, X.row_groups
            order = self._acquisitions_in(X)
            if X.case_costs is not None and order is not None:
                priced = {"case_costs": X.case_costs[:, order]}
            if X.columns.encodes_like(self.columns_) or not hasattr(self, "feature_names_in_"):
                if (X.columns.offsets != self.columns_.offsets).any():
                    X = X.replace(X=features, columns=X.columns.with_offsets(self.columns_.offsets))
                if X.case_costs is not None and order != [*range(X.case_costs.shape[1])]:
                    X = X.replace(groups=self.rules_.groups, group_names=self.rules_.names, **priced)
                if self.bins_ is not None:
                    return X if X.bins is self.bins_ else X.replace(bins=self.bins_)
                same = X.classes.dtype == self.classes_.dtype and X.classes.tolist() == self.classes_.tolist()
                return X if same else X.replace(y=same_kind(y, self.classes_), classes=self.classes_)
        if y is None:
            raise ValueError("y must have the labels of the rows, got None; use predict for rows without labels")
        members, names = self.rules_.groups, self.rules_.names
        grouped: dict[str, Any] = {"groups": members, "group_names": names}
        if members == tuple((i,) for i in range(self.rules_.n_features)) and names == self.columns_.feature_names:
            grouped = {}
        if self.bins_ is not None:
            target: dict[str, Any] = {"y": y, "bins": self.bins_}
        else:
            target = {"y": same_kind(plain_labels(y), self.classes_), "classes": self.classes_}
        own: dict[str, Any] = grouped | priced
        return Dataset(features, **target, columns=self.columns_, row_groups=row_groups, name=name, **own)

    def trajectories(
        self, X: ArrayLike, *, missing_columns: MissingColumns = "error", continue_after_stop: bool = False
    ) -> Trajectories:
        """The acquisitions for each row of ``X`` in their order, and the answers as indices into ``classes_``.

        The answer of a row that is referred to a person is ``n_classes``.

        Acquisitions are indices into ``rules_.names``; ``to_frame()`` of the result shows names and values. With
        ``continue_after_stop`` each row acquires until no acquisition is legal, and answers then.
        """
        features, done = self._act(X, missing_columns, continue_after_stop)
        table = EpisodeTable(features, self.rules_, self.columns_, self.answers_, self._case_costs(X))
        return replace(done, table=table)

    def _act(
        self, X: Any, missing_columns: MissingColumns, continue_after_stop: bool = False
    ) -> tuple[NDArray[np.float32], Trajectories]:
        """The features of rows in the order of the user, and how they are classified.

        That a row has no value is no evidence where the table lacks the column.
        """
        features = self._features(X, missing_columns)
        by_name = is_frame(X) and has_names(X) and hasattr(self, "feature_names_in_")
        absent = by_name and not {*self.evidence_} <= {*X.columns}
        policy = self.policy_.acting if absent else self.policy_
        prices = self._case_costs(X)
        prices = None if prices is None else prices[:, self.arrangement_.acquisitions]
        return features, self._played(policy, features, prices, continue_after_stop)

    def _played(
        self, policy: Any, X: NDArray[np.float32], prices: NDArray[np.float64] | None, continue_after_stop: bool = False
    ) -> Trajectories:
        """How a policy classifies rows, at the usual prices, or at those of the cases in the order of the policy."""
        rows = self.arrangement_.rows(X)
        if prices is None:
            done = policy.trajectories(rows, continue_after_stop=continue_after_stop)
        else:
            done = policy.trajectories_by_case(rows, prices, continue_after_stop=continue_after_stop)
        return self.arrangement_.trajectories(done)

    def _case_costs(self, X: Any) -> NDArray[np.float64] | None:
        """The prices of the cases, float64 (n_samples, J), where the model plans with them and ``X`` has them."""
        if not self.rules_.costs_by_case or not isinstance(X, Dataset) or X.case_costs is None:
            return None
        order = self._acquisitions_in(X)
        if order is None:
            own, given = listing(list(self.rules_.names), 8), listing(list(X.acquisition_names), 8)
            raise ValueError(
                f"case_costs must be the prices of the {self.rules_.n_acquisitions} acquisitions of the model ({own}), "
                f"got those of {given}"
            )
        return X.case_costs[:, order]

    def _acquisitions_in(self, X: Dataset) -> list[int] | None:
        """The place of each acquisition of the model among those of ``X``, by name if the model has names; else None.

        By position where all features are the same, since acquisitions need no names of their own.
        """
        names, own = list(X.acquisition_names), self.rules_.names
        if X.columns.encodes_like(self.columns_) or not hasattr(self, "feature_names_in_"):
            groups = X.groups or tuple((i,) for i in range(X.n_features))
            members = [tuple(sorted(group)) for group in groups]
            if sorted(members) == sorted(self.rules_.groups):
                return [members.index(group) for group in self.rules_.groups]
        return [names.index(name) for name in own] if {*own} <= {*names} else None

    def at_prices(self, prices: Mapping[str, float] | ArrayLike | None = None) -> Self:
        """This model for a case with prices of its own, such as an emergency: it asks and answers at these.

        Parameters
        ----------
        prices : mapping name -> price, or array-like of shape (n_acquisitions,), optional
            In the unit of ``costs``. Acquisitions that a mapping does not name have their mean price in training.

        Raises
        ------
        ValueError, TypeError
            If the model was not trained with prices by case (``Dataset.case_costs``), or a name or price is invalid.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.datasets import load_wine
        >>> from agents import MixtureClassifier
        >>> from fsgym import Dataset
        >>> X, y = load_wine(return_X_y=True)
        >>> prices = np.where(np.arange(178)[:, None] % 2 == 0, [1, 5], [5, 1])
        >>> data = Dataset(X[:, [6, 10]], y, feature_names=["flavanoids", "hue"], case_costs=prices)
        >>> model = MixtureClassifier(lam=0.02, random_state=0).fit(data)
        >>> model.at_prices({"hue": 0}).rules_.costs.tolist()
        [3.0, 0.0]
        """
        check_is_fitted(self, "policy_")
        if not self.rules_.costs_by_case:
            raise ValueError(
                "prices of a case need a model that was trained with prices by case, got one with a price for each "
                f"acquisition; train one with {option_text('case_costs of a Dataset', command='--case-price')}"
            )
        if prices is None or isinstance(prices, Mapping):
            costs = prices_of_case(prices, self.rules_.names, self.rules_.costs)
        else:
            costs = check_case_prices(prices, self.rules_.names)
        model = copy(self)
        model._chart = None
        if self._chart_rows is not None:
            model._training_summary = None  # made again, of what this model acquires
        for name in EXPECTATIONS:
            if hasattr(self, name):
                setattr(model, name, None)  # that of the training was at other prices
        model._set_policy(self.policy_.at_prices(costs[self.arrangement_.acquisitions]))
        return model

    def predict(self, X: ArrayLike | Blocks, *, missing_columns: MissingColumns = "error") -> NDArray:
        """The predicted class of each row of ``X``, (n_samples,); of a numeric target the number, float64.

        With ``refer_cost``, ``refer_label`` for a row that is referred to a person; the dtype is then object unless the
        classes are text.

        Parameters
        ----------
        X : array of shape (n_samples, ``n_features_in_``), DataFrame, Series, Dataset or Blocks
            Where the model has names, a DataFrame counts by name: columns in any order, others are ignored. A Series is
            one row. NaN is unavailable, and evidence where the column is in ``evidence_``. A level that was not in the
            training data counts as NaN, too, with a warning.
        missing_columns : {"error", "unavailable"}
            Whether a column that a DataFrame lacks is an error, or unavailable for every row.

        Raises
        ------
        ValueError
            If a column is missing or holds something else than in training.
        """
        blocks: Any = X if isinstance(X, Blocks) else [X]
        if isinstance(X, Blocks) and not X.has_labels:
            named = hasattr(self, "feature_names_in_")
            blocks = (frame if named else frame.to_numpy() for frame in X.frames())
        answers = np.concatenate([self._act(block, missing_columns)[1].answers for block in blocks])
        return self.rules_.answer_labels(self.answers_)[answers]

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """The share of rows that are answered correctly; one that is referred to a person is not.

        For a numeric target minus the mean absolute error, or minus the mean squared error where answers are means;
        NaN where a row is referred, as it has no number: ``fsgym.evaluate`` counts what a referral costs.

        Parameters
        ----------
        X : array, DataFrame or Dataset, as in ``predict``
        y : array-like of shape (n_samples,), the labels or numbers
        sample_weight : array-like of shape (n_samples,), optional
        """
        check_is_fitted(self, "policy_")
        if self.bins_ is not None:
            return -mean_loss(self.bins_, y, self.predict(X), sample_weight)
        if self.rules_.refer_cost is None:
            return super().score(X, y, sample_weight)
        return share_correct(self.predict(X), y, sample_weight)

    def probabilities_at(self, X: ArrayLike, acquired: ArrayLike) -> NDArray[np.float64] | None:
        """Class probabilities given only some of the features of each row, float64 (n_samples, n_classes).

        Parameters
        ----------
        X : array, DataFrame, Series or Dataset, as in ``predict``
        acquired : bool (n_samples, n_features)
            The features whose values may be used; a category has one per level. A missing value is not acquired.

        Returns
        -------
        float64 (n_samples, n_classes), columns in the order of ``classes_``, or None
            None for an agent without a model of the classes (``rcpi``, networks). With ``class_weight`` or
            ``sample_weight`` these are the probabilities in the weighted training data.

        Raises
        ------
        TypeError, ValueError
            If ``acquired`` is no mask of that shape, or ``X`` is not as in training.
        """
        features, mask = self._features(X), np.asarray(acquired)
        if mask.dtype != bool:
            raise TypeError(f"acquired must be a mask of bool, got dtype {mask.dtype}")
        if mask.shape != features.shape:
            raise ValueError(f"acquired must have shape {features.shape}, got {mask.shape}")
        order, missing = self.arrangement_.features, np.isnan(features)
        options = {"missing": missing[:, order]} if self.evidence_ else {}
        return self.policy_.state_probabilities((mask & ~missing)[:, order], features[:, order], **options)

    def features_used(self, X: ArrayLike, *, missing_columns: MissingColumns = "error") -> NDArray[np.bool_]:
        """The columns acquired to classify each row of ``X``, bool (n_samples, ``n_features_in_``)."""
        acquired = self._act(X, missing_columns)[1].acquired
        return self.columns_.of_features(acquired)

    def calibrate(
        self,
        X: Any = None,
        y: ArrayLike | None = None,
        *,
        target_error: float | None = None,
        target_recall: Mapping[Any, float] | None = None,
        target_error_cost: float | None = None,
        max_referred: float | None = None,
        min_confidence: float | None = None,
        confidence: float = 0.9,
        by: Any = None,
        groups: ArrayLike | None = None,
        test: str = "betting",
    ) -> Self:
        """Make the model stop only where it is certain enough for what is promised, tested on rows of your own.

        Where the model would stop and is not certain enough, it goes on in its order, within its budgets, and answers
        where nothing is left that could change the answer. A model with ``refer_cost`` refers such a case to a person.
        Predictions, sessions, charts and evaluations follow. Each call replaces the promise of the last one; a call
        that raises an error leaves the model as it was.

        Parameters
        ----------
        X : array, DataFrame or Dataset, as in ``predict``
            Rows that had no part in the training, nor in choosing the model, and come as the cases will come, with as
            many missing values. Rows that were chosen by class only do for ``target_recall``. Left out if only
            ``min_confidence`` is given.
        y : array-like of shape (n_samples,), the labels; left out for a ``Dataset``
        target_error : float, optional
            At most this share of all answers is wrong. Rows that are referred to a person have none.
        target_recall : mapping label -> float, optional
            At least this share of the rows of each of these classes is found, of those that are not referred.
        target_error_cost : float, optional
            The mean error cost of all rows is at most this, in units of ``error_costs``; with ``refer_cost`` for each
            row that is referred.
        max_referred : float, optional
            At most this share of all rows is referred to a person, by the model itself or as no answer was certain
            enough. Alone, it tests how many the model refers as it is.
        min_confidence : float, optional
            Stop only where the probability of the answer is at least this, as the model sees it. Nothing is tested.
        confidence : float, default 0.9
            In at least this share of calibrations, all that is promised holds together.
        by : str or array-like of shape (n_samples,), optional
            A column of ``X``, or a label for each row: what is promised holds in each of these parts of the rows. One
            threshold serves them all, so that a case need not say its part.
        groups : array-like of shape (n_samples,), optional
            Labels of rows that belong together, such as those of a patient. What is promised is the mean over groups of
            the share in each group. By default the ``row_groups`` of a ``Dataset``.
        test : {"betting", "hoeffding-bentkus"}, default "betting"
            How mean costs, and means over groups of several rows, are tested. Shares of rows are tested exactly.

        Returns
        -------
        self

        Raises
        ------
        ValueError, TypeError
            If nothing can be promised: there are too few rows, with how many are needed; or no threshold passes, with
            what the rows could promise where everything is acquired, or with ``refer_cost`` where the tests begin. If
            clearly more than 5 % of the rows trained the model, beyond equal rows by chance (a model from a file does
            not know its rows), or the agent has no class probabilities. If a parameter is invalid.

        Notes
        -----
        Learn then Test (Angelopoulos et al., 2021): 80 thresholds of the certainty are tested in a fixed order, from
        "never stop early" on, and the last one before the first that fails is used. Errors and recalls have exact
        binomial p-values (Clopper and Pearson, 1934), mean costs those of betting (Waudby-Smith and Ramdas, 2024) or of
        Hoeffding and Bentkus (Bates et al., 2021).

        With ``refer_cost`` nothing would be answered at the strictest threshold, so a random fifth of the rows, the
        same in each call, chooses where the others begin (Ringel et al., 2024): where its p-value is lowest.

        References
        ----------
        See ``fsgym.evaluation.risk_control``.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from agents import LatticeClassifier
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> model = LatticeClassifier(lam=0.01, random_state=0).fit(X[:300], y[:300])
        >>> promise = model.calibrate(X[300:], y[300:], target_error=0.1).promise_
        >>> print(promise.sentences()[0])
        Promised with confidence 90 %: at most 10 % of the answers are wrong.
        """
        check_is_fitted(self, "policy_")
        policy = self.policy_.policy if isinstance(self.policy_, CertainPolicy) else self.policy_
        check_probabilities(policy, type(self).__name__)
        if policy.rules.costs_by_case:
            remedy = "calibrate model.at_prices(...), on rows that have these prices"
            if is_command():
                remedy = f"in Python, {remedy}, or train without --case-price, and --drop the columns of prices"
            raise ValueError(
                "calibrate needs one price for each acquisition, but this model was trained with prices by case; "
                f"{remedy}"
            )
        if self.bins_ is not None:
            raise ValueError(
                "calibrate promises what is true of classes, but this model answers with numbers; for a promise, train "
                "one on classes, such as whether the number is above a limit"
            )
        wanted = check_targets(
            target_error,
            target_recall,
            target_error_cost,
            max_referred,
            min_confidence,
            confidence,
            test,
            self.classes_.tolist(),
            policy.rules.answer_costs,
        )
        if not has_rows(wanted, X, y, by, groups):
            seen, evaluated = self._calibration_rows, None
            promise = without_rows(wanted, policy.rules, model_file.digest(policy, self._labels()))
        else:
            features, rows = self._rows_to_calibrate(X, y, by, groups)
            features = check_rows(policy.rules, features, policy.rules)
            promise, answers = make_promise(
                record_paths(policy, features),
                features,
                rows,
                wanted,
                policy.rules,
                self.__dict__.setdefault("_calibrations", {}),
                model_file.digest(policy, self._labels()),
            )
            seen = self._rows_of_chart(features, rows.y) if self._chart_rows is None else None
            evaluated = features, rows.y, answers
        before = self.without_promise()
        self._held_out_before = before.held_out_, before.held_out_asked_
        self.policy_, self._chart = CertainPolicy(policy, promise, policy.rules), None
        self._calibration_rows = seen
        if evaluated is not None:
            self._count_answers(*evaluated)
        return self

    def _count_answers(self, X: NDArray[np.float32], y: NDArray[np.int64], answers: NDArray[np.int64]) -> None:
        """Keep how it answered rows in the order of the policy, also where it is not told what is missing."""

        def counted(model: Self, given: NDArray[np.int64]) -> HeldOut:
            counts = np.zeros((self.rules_.n_classes, len(self.rules_.answer_costs)), np.int64)
            np.add.at(counts, (y, given), 1)
            return HeldOut.of(counts, None, model.policy_digest())

        self.held_out_, self.held_out_asked_ = counted(self, answers), None
        if self.evidence_:
            unsaid = self.without_evidence()
            asked = ask_cases(unsaid, X[:, np.argsort(self.arrangement_.features)])
            self.held_out_asked_ = counted(unsaid, asked.answers)

    def without_promise(self) -> Self:
        """This model as it was before ``calibrate``, to compare prices with; itself if it is not calibrated."""
        if self.promise_ is None:
            return self
        model = copy(self)
        policy: Any = self.policy_
        model.policy_, model._chart = policy.policy, None
        model.held_out_, model.held_out_asked_ = self._held_out_before
        model.__dict__["_calibrations"] = dict(self.__dict__.get("_calibrations", {}))  # its own count
        return model

    def _rows_to_calibrate(self, X: Any, y: Any, by: Any, groups: Any) -> tuple[NDArray[np.float32], CalibrationRows]:
        """The features of the rows, in the order of the policy, and their labels; ValueError if they trained it."""
        X = as_frame(X)
        dataset = self.labelled_dataset(X, y)
        share = None if self.training_origin_ is None else dataset.origin.share_in(self.training_origin_)
        if share:
            raise ValueError(f"calibrate needs rows that did not train the model, but {share:.0%} of these did")
        if self._trained_rows is not None:
            self._trained_rows.refuse(dataset.X, dataset.y)
        rows = calibration_rows(dataset.y, X, by, dataset.row_groups if groups is None else groups)
        return self.arrangement_.rows(dataset.X), rows

    @property
    def training_summary_(self) -> TrainingSummary | None:
        """Counts of the rows of the training, as answered before ``calibrate``; None of a file without them."""
        check_is_fitted(self, "policy_")
        if self._training_summary is None and self._chart_rows is not None:
            X, y, prices = self._chart_rows
            done = self._played(self.without_promise().policy_, X, prices if self.rules_.costs_by_case else None)
            acquired = self.columns_.of_features(done.acquired)
            self._training_summary = TrainingSummary.of(
                self.columns_, X, y, done.answers, acquired, self.rules_.n_classes, self._n_answers
            )
        return self._training_summary

    @property
    def _n_answers(self) -> int:
        return self.rules_.n_classes + (self.rules_.refer_cost is not None)

    def compare_with_training(
        self,
        X: Any,
        y: ArrayLike | None = None,
        *,
        missing_columns: MissingColumns = "error",
        answers: NDArray[np.int64] | None = None,
    ) -> Comparison:
        """How rows differ from those that trained the model: a unit, a level, a mean, the share of missing values.

        Columns are compared that the model acquires for some row of its training; those of a calibrated model, which
        goes on further, all are. All tests are corrected together: of batches that do not differ, at most 5 % are said
        to.

        Parameters
        ----------
        X : array, DataFrame or Dataset, as in ``predict``
        y : array-like of shape (n_samples,), optional
            The labels, whose shares are compared, too, or the numbers by the shares of the bins; those of a ``Dataset``
            always are.
        missing_columns : {"error", "unavailable"}
            As in ``predict``. A column that the table lacks is not compared.
        answers : int64 (n_samples,), optional
            The codes of its answers to labelled rows, as ``trajectories(X).answers``: whether more are wrong, or by
            more, than on the rows held out of which the model keeps counts, as one of ``fsgym train`` and a calibrated
            one do. ``errors_tested`` of the result says whether it does.

        Returns
        -------
        fsgym.data.training_summary.Comparison
            With ``differences``, ``sentence`` and ``as_json``.

        Raises
        ------
        ValueError
            If the model is from a file without a summary of its training, or as ``predict``.

        Examples
        --------
        >>> from sklearn.datasets import load_wine
        >>> from agents import LatticeClassifier
        >>> X, y = load_wine(return_X_y=True, as_frame=True)
        >>> X = X[["alcohol", "hue", "flavanoids"]]
        >>> model = LatticeClassifier(lam=0.05, random_state=0).fit(X[::2], y[::2])
        >>> model.compare_with_training(X[1::2]).differences
        ()
        >>> model.compare_with_training(X[1::2].assign(flavanoids=X["flavanoids"] / 1000)).differences[0].factor
        0.001
        """
        summary = self.training_summary_
        if summary is None:
            raise ValueError(
                "compare_with_training must have a summary of the training, which the file of this model lacks; train "
                "it again with this version"
            )
        X = as_frame(X)
        labelled = y is not None or isinstance(X, Dataset)
        with warnings.catch_warnings():  # of levels that training did not have, which are counted here
            warnings.simplefilter("ignore", UserWarning)
            rows = self.labelled_dataset(X, y, missing_columns) if labelled else None
            features = self._features(X, missing_columns) if rows is None else rows.X
        table = X if is_frame(X) and has_names(X) and hasattr(self, "feature_names_in_") else None
        return summary.compare(
            self.columns_,
            features,
            None if rows is None else rows.y,
            classes=self.classes_.tolist() if self.bins_ is None else self.bins_.ranges(),
            unmatched=None if table is None else unmatched_cells(self.columns_, table),
            all_columns=self.promise_ is not None,
            absent=() if table is None else {*self.columns_.names} - {*table.columns},
            errors=None if rows is None or answers is None else self._errors_compared(rows, answers),
        )

    def _errors_compared(self, rows: Dataset, answers: NDArray[np.int64]) -> Difference | None:
        """The test of whether it errs more than on the rows held out; None where the model keeps no counts of them."""
        codes = np.asarray(answers)
        if codes.dtype.kind not in "iu" or not ((codes >= 0) & (codes < self._n_answers)).all():
            raise ValueError("answers must be the codes of trajectories(X).answers, and not labels or numbers")
        found, errors = held_out_of(self), None
        if found is None:
            return None
        if self.bins_ is not None:
            errors = np.abs(np.append(self.bins_.values, np.nan)[answers] - rows.target)
        return found.compare(answers, rows.y, self.classes_.tolist(), errors)

    def estimate_loss(
        self,
        X: Any,
        y: ArrayLike | None = None,
        cv: Any = 5,
        groups: ArrayLike | None = None,
        n_jobs: int | None = None,
    ) -> LossEstimate:
        """Estimate the loss on other data from the same distribution, by cross-validation.

        In each fold a copy with the same parameters is fitted from scratch and evaluated on the rows left out. The
        estimate is not optimistic, since every choice is made inside the folds. The classifier is not changed.

        Parameters
        ----------
        X : array, DataFrame or Dataset
            As in ``fit``: a ``Dataset`` brings its names, groups, prices and row groups.
        y : array-like of shape (n_samples,), optional
            Left out if ``X`` is a ``Dataset``.
        cv : int, splitter or iterable, default 5
            As in ``sklearn.model_selection.cross_val_score``; whole numbers make stratified folds without shuffling
            (``StratifiedKFold``, and with ``groups`` ``StratifiedGroupKFold``).
        groups : array-like of shape (n_samples,), optional
            Rows with the same label, such as the visits of one patient, are never on both sides of a fold; without
            ``groups`` the estimate is optimistic for such data. Passed to a splitter. By default the ``row_groups`` of
            a ``Dataset``.
        n_jobs : int, optional
            Number of folds at a time, each in a process, as in scikit-learn. The estimate does not depend on it.

        Raises
        ------
        ValueError
            If a class has no training rows in a fold, there are fewer groups than folds, or a group is on both sides.

        Examples
        --------
        >>> from sklearn.datasets import load_wine
        >>> from agents import LatticeClassifier
        >>> X, y = load_wine(return_X_y=True)
        >>> X = X[:, [0, 6, 9]]
        >>> estimate = LatticeClassifier(lam=0.05, random_state=0).estimate_loss(X, y, cv=3)
        >>> bool(0.1 < estimate.loss < 0.3), bool(estimate.standard_error < 0.03)
        (True, True)
        """
        return estimate_loss(self, X, y, cv, groups, n_jobs)

    def save(self, path: str | os.PathLike) -> None:
        """Save policy, rules, class labels, columns, units and chart to a model file (safetensors with a JSON header).

        Raises OSError if the file cannot be written, TypeError for class labels other than numbers and text, ValueError
        for a calibrated model ``without_evidence``, whose rule is that of the promise of another model.
        """
        check_is_fitted(self, "policy_")
        if isinstance(self.promise_, RuleAlone):
            raise ValueError(
                "save needs a promise of this model, but that of the model with evidence was made; calibrate this one, "
                "or save model.without_promise()"
            )
        policy, header = self.policy_, model_file.labels_as_json(self._labels()) | {"chart": self._chart_json()}
        if isinstance(policy, CertainPolicy):
            policy, header = policy.policy, header | {model_file.PROMISE: policy.promise.as_json()}
        if self.training_summary_ is not None:
            header |= {model_file.SUMMARY: self.training_summary_.to_json()}
        for key, found in ((model_file.HELD_OUT, self.held_out_), (model_file.HELD_OUT_ASKED, self.held_out_asked_)):
            if found is not None:
                header |= {key: found._asdict()}
        model_file.save(path, policy, header)

    @classmethod
    def load(cls, path: str | os.PathLike) -> Self:
        """Load a fitted classifier from a model file, without executing anything in it or importing training code.

        The rules become the parameters of the classifier, by name where the model has names. Its other parameters,
        which controlled the training, are not in the file and have their defaults.

        Raises OSError if the file cannot be read, ValueError if it is damaged or contains another kind of model.
        """
        policy, header = model_file.load(path, cls.policy_class)
        if "classes" not in header:
            raise ValueError(
                f"{path} contains a policy without class labels, which cannot be asked; load it with its agent, as in "
                "RCPI.load, or train a classifier, such as DatumWiseClassifier"
            )
        try:
            labels = model_file.read_labels(header, policy.rules)
            model = cls(**model_file.rule_parameters(labels.arrangement.rules_of_user(policy.rules), labels))
            model._restore(policy, header, labels)
            if model_file.PROMISE in header:
                model._read_promise(header[model_file.PROMISE])
            plain = header.get(model_file.SUMMARY)
            if plain is not None:
                n_classes = model.rules_.n_classes
                model._training_summary = TrainingSummary.from_json(plain, model.columns_, n_classes, model._n_answers)
            if model_file.HELD_OUT in header:
                model.held_out_ = HeldOut.from_json(header[model_file.HELD_OUT], model.rules_.n_classes)
            if model_file.HELD_OUT_ASKED in header:
                model.held_out_asked_ = HeldOut.from_json(header[model_file.HELD_OUT_ASKED], model.rules_.n_classes)
            model._read_chart(header["chart"])
        except model_file.DAMAGE_ERRORS as error:
            raise model_file.damage_error(path, error) from None
        return model

    def _read_promise(self, plain: Any) -> None:
        """Take the promise from a model file; one of ``DAMAGE_ERRORS`` if it is damaged or of another policy."""
        promise, rules = Promise.from_json(plain, self.classes_.tolist()), self.policy_.rules
        if promise.refers != (rules.refer_cost is not None):
            raise ValueError("its promise and its rules must both be about cases that are referred, or neither")
        if promise.policy != model_file.digest(self.policy_, self._labels()):
            raise ValueError("its promise is of another policy")
        check_probabilities(self.policy_, type(self).__name__)
        self.policy_ = CertainPolicy(self.policy_, promise, rules)
        self._calibrations = {promise.rows: promise.n_calibrations} if promise.rows else {}

    def _labels(self) -> model_file.Labels:
        """Everything in user terms, for the header of a model file."""
        named, origin = hasattr(self, "feature_names_in_"), self.training_data_
        own = (self.classes_, self.columns_, named, self.arrangement_, origin, {}, self.bins_)
        return model_file.Labels(*own, self.price_ranges_ if self.rules_.costs_by_case else None)

    def _restore(self, policy: Any, header: dict[str, Any], labels: model_file.Labels) -> None:
        """Set the fitted attributes from a model file; one of ``DAMAGE_ERRORS`` if they do not fit."""
        self.classes_, self.columns_, self.arrangement_ = labels.classes, labels.columns, labels.arrangement
        self.training_data_, self.bins_, self.price_ranges_ = labels.training_data, labels.bins, labels.price_ranges
        self.n_features_in_ = len(labels.columns)
        if labels.named:
            self.feature_names_in_ = np.array(labels.columns.names, dtype=object)
        self._set_policy(policy)
