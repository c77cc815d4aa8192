"""Questions to the policy of a classifier, in the order of the user."""

from __future__ import annotations

import json
import os
from copy import copy
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from agents import model_file
from agents.arrangement import Arrangement
from agents.certain import CertainPolicy
from agents.policy import Policy
from agents.policy_export import export_policy
from fsgym.chart import Chart
from fsgym.chart.stored import MeasuredChart, chart_as_json, chart_from_json, measured_chart
from fsgym.chart.views import ChartTerms
from fsgym.chart.ways import ways_of
from fsgym.data.columns import Columns
from fsgym.data.dataset import Dataset
from fsgym.evaluation.promise import Promise
from fsgym.rules import Rules, State
from fsgym.session.acquisitions import Acquisitions
from fsgym.session.asked_cases import ask_cases
from fsgym.session.held_out import HeldOut
from fsgym.session.mixin import AskingMixin
from fsgym.session.step import Advice
from fsgym.session.walk import Walk, WalkOrder
from fsgym.support.checks import is_integer
from fsgym.text.messages import brief, option_text
from fsgym.text.speech import said, speaking

MAX_BOXES = 30  # of a chart, by default: what fits on a page
MAX_CHART_ROWS = 4000  # of the training rows, from which a chart is made
MAX_CELLS = 4_000_000  # likewise


class ChartRows(NamedTuple):
    """Some rows of the training: features float32 (n, n_features) in the order of the user, class codes int64 (n,)."""

    X: NDArray[np.float32]
    y: NDArray[np.int64]
    prices: NDArray[np.float64] | None = None  # by case, (n, n_acquisitions), in the order of the policy


class AskingAgent(AskingMixin):
    """The steps, sessions and charts of a classifier with a policy."""

    columns_: Columns
    rules_: Rules
    policy_: Policy
    arrangement_: Arrangement
    _chart_rows: ChartRows | None = None  # not in model files
    _calibration_rows: ChartRows | None = None  # of a model from a file, whose chart they make
    _chart: MeasuredChart | None = None
    held_out_: HeldOut | None
    held_out_asked_: HeldOut | None

    def labelled_dataset(self, X: Any, y: Any = None) -> Dataset:
        raise NotImplementedError

    def _features(self, X: Any) -> NDArray[np.float32]:
        raise NotImplementedError

    def _labels(self) -> model_file.Labels:
        raise NotImplementedError

    def policy_digest(self) -> str:
        """SHA-256 of the policy, its rules and names, 64 hexadecimal digits: equal ones ask and answer the same."""
        check_is_fitted(self, "policy_")
        return model_file.digest(self.policy_, self._labels())

    def policy_json(self) -> str:
        """The policy with its rules and names as JSON text, in the format of docs/policy-format.md.

        That of a calibrated model has its rule of certainty as well. Of a model that
        was trained with prices by case, each case tells its own. An interpreter without fsgym can ask with it, such as
        that of ``save_page``.

        Raises ValueError for a kind of policy that has no interpreter, such as one with trees, TypeError for class
        labels other than numbers and text.
        """
        check_is_fitted(self, "policy_")
        return json.dumps(export_policy(self.policy_, self._labels()), allow_nan=False)

    def save_page(self, path: str | os.PathLike, title: str = "", *, language: str = "en", currency: str = "") -> None:
        """Save an HTML page that asks about a case in a browser, without Python and without a network.

        It holds the policy (``policy_json``), an interpreter in JavaScript, and the chart of the model if there is one.
        For a model with columns in ``evidence_``, all three are of cases of which it is not said what is missing.

        Parameters
        ----------
        path : str or PathLike; an existing file is replaced
        title : str, optional
            By default the target and the name of the training data, if the command ``train`` made the model, and
            otherwise the name of the file without its ending.
        language : {"en", "de"}, default "en"
            That of the page. Names, levels and classes are those of the data.
        currency : str, optional
            The unit of the prices, such as "EUR", shown with each of them; at ``lam=1`` also with each cost.

        Raises
        ------
        ValueError, TypeError
            As ``policy_json``, and for a language that there is none of.
        OSError
            If the file cannot be written.
        """
        from fsgym.export.page import page_html
        from fsgym.session.held_out import reliability_text, shown_chart, speech_of, titled
        from fsgym.support.writing import write_whole

        check_is_fitted(self, "policy_")
        with speaking(speech_of(self, language, currency)):
            policy = json.loads(self.policy_json())
            title = titled(self, title) or Path(path).stem
            chart, drawn = shown_chart(self), dict[str, Any]()
            if chart is not None:
                usable = getattr(chart, "is_usable", True)
                drawn = {"chart": chart.to_svg(dark=True), "caveat": chart.caveat, "chart_usable": usable}
            reliable = reliability_text(self, is_told=False), reliability_text(self, is_told=False, in_case=True)
            page = page_html(policy, title, reliability=reliable, **drawn)
        write_whole(path, page)

    def _check_fitted(self) -> None:
        """NotFittedError before ``fit``; scikit-learn's own check is too slow for each step of a case."""
        if not hasattr(self, "policy_"):
            check_is_fitted(self, "policy_")

    @property
    def acquisitions_(self) -> Acquisitions:
        """The rules and the columns by name, in the order of the user."""
        self._check_fitted()
        return self._made_once(self.rules_, lambda: Acquisitions(self.rules_, self.columns_))

    @property
    def evidence_(self) -> tuple[str, ...]:  # type: ignore[override]
        """The columns for which it is evidence whether their value is missing; none for most models."""
        self._check_fitted()
        telling = self.policy_.telling
        if not len(telling):
            return ()
        return tuple(self.columns_[k].name for k in self.columns_.column_of[self.arrangement_.features[telling]])

    @property
    def promise_(self) -> Promise | None:
        """What ``calibrate`` promised, in words when printed; None for a model that is not calibrated."""
        self._check_fitted()
        policy = self.policy_
        return policy.promise if isinstance(policy, CertainPolicy) else None

    def without_evidence(self) -> Self:
        """This model as it is for cases of which it is not said what is missing; itself if it has no ``evidence_``."""
        if not self.evidence_:
            return self
        model = copy(self)
        model.policy_ = self.policy_.acting
        model.held_out_ = self.held_out_asked_
        return model

    def advise(
        self,
        acquired: NDArray[np.bool_],
        values: NDArray[np.float64],
        legal: NDArray[np.bool_],
        missing: NDArray[np.bool_] | None = None,
    ) -> Advice:
        states = self.arrangement_.to_policy(acquired, values, legal)
        if missing is None:
            return self.arrangement_.to_user(self.policy_.advise(*states))
        policy: Any = self.policy_
        return self.arrangement_.to_user(policy.advise(*states, missing=missing[:, self.arrangement_.features]))

    def walk_order(self) -> WalkOrder:
        return WalkOrder(self.policy_.rules, self.arrangement_.features, self.arrangement_.acquisitions)

    def walk(self, state: State, missing: NDArray[np.bool_] | None = None) -> Walk:
        policy: Any = self.policy_
        return policy.walk(state) if missing is None else policy.walk(state, missing=missing)

    def chart(self, X: Any = None, y: Any = None, *, max_boxes: int = MAX_BOXES) -> Chart:
        """What the policy asks in which state, as a chart to look at, to read or to draw.

        The boxes are made from up to 4,000 rows of the training, three quarters of them where there are no more; at
        most 60 boxes are found. Model files have the chart, but no rows. A model from a file that is calibrated has a
        chart of the rows of the calibration.

        Parameters
        ----------
        X : array, DataFrame or Dataset, as in ``predict``, optional
            The cases by which shares and figures are measured. By default a quarter of the rows of the training, from
            which the boxes were not made; the policy was trained on them, however, so its loss is too low there. Rows
            of a calibration only chose where it stops.
        y : array-like of shape (n_samples,), optional
            Their labels. Without labels the chart has no shares of classes and no loss.
        max_boxes : int, default 30
            The chart is cut after so many boxes, and answers there; its loss and fidelity say what this costs.

        Raises
        ------
        ValueError
            If ``max_boxes`` is not a whole number above 0, or the model has no chart: it is from a file without one, or
            from a file and was changed without rows.

        Examples
        --------
        >>> from sklearn.datasets import load_wine
        >>> from agents import LatticeClassifier
        >>> X, y = load_wine(return_X_y=True, as_frame=True)
        >>> model = LatticeClassifier(lam=0.05, random_state=0).fit(X[["alcohol", "hue", "flavanoids"]], y)
        >>> chart = model.chart(max_boxes=2)
        >>> len(chart.boxes), chart.boxes[0].question
        (2, 'flavanoids')
        """
        check_is_fitted(self, "policy_")
        if not is_integer(max_boxes) or max_boxes < 1:
            raise ValueError(f"{option_text('max_boxes')} must be a whole number above 0, got {brief(max_boxes)}")
        if X is None and y is not None:
            raise ValueError("X must be given where y is, got labels without rows")
        structure, ways, calibration = self._found_chart()
        cases = said("chart_calibration" if calibration else "chart_training")
        if X is not None:
            labelled = y is not None or isinstance(X, Dataset)
            rows = self.labelled_dataset(X, y) if labelled else None
            features = self._features(X) if rows is None else rows.X
            codes = None if rows is None else rows.y
            ways, cases = (
                ways_of(structure, self.rules_, features, codes, ask_cases(self, features)),
                said("chart_cases"),
            )
        labels = self.classes_.tolist() if self.bins_ is None else self.bins_.ranges()
        terms = ChartTerms(self.rules_, self.columns_, labels)
        title = said("chart_title")
        if self.evidence_:
            title = said("chart_not_said", title=title, names=", ".join(self.evidence_))
        if self.rules_.costs_by_case:
            title = said("chart_mean_prices", title=title)
        return Chart(structure, ways, terms, title=title, cases=cases, max_boxes=max_boxes)

    def _see_rows(self, dataset: Dataset) -> None:
        """Take the rows of the training, in the order of the policy; a chart is made of them when it is asked for."""
        self._chart_rows = self._rows_of_chart(dataset.X, dataset.y, dataset.case_costs)

    def _rows_of_chart(
        self, X: NDArray[np.float32], y: NDArray[np.int64], prices: NDArray[np.float64] | None = None
    ) -> ChartRows:
        """A random sample in the order of the user, always the same, of rows in the order of the policy."""
        most = min(MAX_CHART_ROWS, max(MAX_CELLS // X.shape[1], 1))
        if len(X) > most:
            chosen = np.sort(np.random.default_rng(0).choice(len(X), most, replace=False, shuffle=False))
            X, y, prices = X[chosen], y[chosen], None if prices is None else prices[chosen]
        return ChartRows(X[:, np.argsort(self.arrangement_.features)], y, prices)

    def _chart_json(self) -> dict[str, Any] | None:
        """The chart for a model file; None for a model from a file without one."""
        is_known = self._chart is not None or self._chart_rows is not None or self._calibration_rows is not None
        return chart_as_json(self._found_chart()) if is_known else None

    def _read_chart(self, plain: Any) -> None:
        """Take the chart from a model file; one of ``DAMAGE_ERRORS`` if it is damaged."""
        if plain is not None:
            self._chart = chart_from_json(plain, self.rules_)

    def _found_chart(self) -> MeasuredChart:
        """The chart from the file, or made now from rows of the training, or of the calibration."""
        if self._chart is None:
            rows = self._calibration_rows if self._chart_rows is None else self._chart_rows
            if rows is None:
                raise ValueError(
                    "this model has no chart: its file had none, or it was changed after it was loaded; calibrate it "
                    "on rows, or fit it again, and save it"
                )
            found = measured_chart(self, rows.X, rows.y)
            self._chart = found._replace(calibration=rows is self._calibration_rows)
        return self._chart
