"""Questions to the policy of a classifier, in the order of the user."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from agents import model_file
from agents.arrangement import Arrangement
from agents.policy import Policy
from agents.policy_export import export_policy
from fsgym.columns import Columns
from fsgym.rules import State
from fsgym.session.asking import AskingMixin
from fsgym.session.step import Advice
from fsgym.session.walk import Walk, WalkOrder


class AskingAgent(AskingMixin):
    """The steps and sessions of a classifier with a policy."""

    columns_: Columns
    policy_: Policy
    arrangement_: Arrangement

    def _labels(self) -> model_file.Labels:
        raise NotImplementedError

    def policy_digest(self) -> str:
        """SHA-256 of the policy, its rules and names, 64 hexadecimal digits: equal ones ask and answer the same."""
        check_is_fitted(self, "policy_")
        return model_file.digest(self.policy_, self._labels())

    def policy_json(self) -> str:
        """The policy with its rules and names as JSON text, in the format ``fsgym-policy-1`` (docs/policy-format.md).

        An interpreter without fsgym can ask with it, such as that of ``save_page``.

        Raises ValueError for a kind of policy that has no interpreter, TypeError for class labels other than numbers
        and text.
        """
        check_is_fitted(self, "policy_")
        return json.dumps(export_policy(self.policy_, self._labels()), allow_nan=False)

    def save_page(self, path: str | os.PathLike, title: str = "") -> None:
        """Save an HTML page that asks about a case in a browser, without Python and without a network.

        It holds the policy (``policy_json``), an interpreter in JavaScript, and the chart of the model if there is one.

        Parameters
        ----------
        path : str or PathLike; an existing file is replaced
        title : str, optional; by default the name of the file without its ending

        Raises
        ------
        ValueError, TypeError
            As ``policy_json``.
        OSError
            If the file cannot be written.
        """
        from fsgym.export.page import page_html, write_text

        policy = json.loads(self.policy_json())
        write_text(path, page_html(policy, title or Path(path).stem, self._chart_svg()))

    def _chart_svg(self) -> str:
        """The chart of the model as an SVG element; "" where it has none."""
        chart = getattr(self, "chart", None)
        try:
            return "" if chart is None else chart().to_svg()
        except ValueError:
            return ""

    def _columns_asked(self) -> Columns:
        return self.columns_

    def _advise(self, acquired: NDArray[np.bool_], values: NDArray[np.float64], legal: NDArray[np.bool_]) -> Advice:
        return self.arrangement_.advice(self.policy_.advise(*self.arrangement_.states(acquired, values, legal)))

    def _walk_order(self) -> WalkOrder:
        return WalkOrder(self.policy_.rules, self.arrangement_.features, self.arrangement_.acquisitions)

    def _walk(self, state: State) -> Walk:
        return self.policy_.walk(state)
