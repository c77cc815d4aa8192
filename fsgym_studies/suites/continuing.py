"""Policies of all kinds continued where they would stop, for the scores within budgets."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from agents.policy import Policy
from fsgym.data.dataset import Dataset
from fsgym.envs.trajectories import Trajectories
from fsgym.evaluation.evaluate import as_actor, codes_of, play
from fsgym.metrics import aligned_probabilities
from fsgym.rules import Rules

NO_ORDER = "no order of acquisitions beyond its own stop"
NO_MASKS = "its predict takes no action_masks, so that it cannot be asked to continue past its stop"
ORDER_ENDS = "its order of acquisitions ends before all relevant features"
IGNORES_MASKS = "takes no further acquisition where its answer is masked"


class CannotContinueError(Exception):
    """A policy has no acquisitions beyond its own stop; the message is the reason."""


def continued(model: Any, test: Dataset, rules: Rules) -> Trajectories:
    """The trajectories of a policy that acquires until no acquisition is legal, in the order of the data set.

    A classifier of ``agents``, a ``Policy``, and a classifier with a method ``continue_after_stop``, such as the fixed
    panel, which continues to the end of its order, are asked to continue. To a Stable-Baselines3
    model with ``action_masks`` and a callable ``(observations, action_masks) -> actions`` the answers are shown as
    illegal while an acquisition is legal.

    Raises
    ------
    CannotContinueError
        If the method has no such interface, or does not obey the masks.
    """
    arrangement = getattr(model, "arrangement_", None)
    if arrangement is not None and hasattr(model, "policy_"):
        rows = arrangement.rows(test.X)
        return arrangement.trajectories(
            model.policy_.trajectories(rows, arrangement.rules(rules), continue_after_stop=True)
        )
    if isinstance(model, Policy):
        return model.trajectories(test.X, rules, continue_after_stop=True)
    if hasattr(model, "continue_after_stop"):
        done = model.continue_after_stop(test.to_array(), rules)
        shares = aligned_probabilities(done.probabilities, model.classes_, test.classes)
        return replace(done, answers=codes_of(model.classes_[done.answers], test), probabilities=shares)
    if hasattr(model, "features_used") or hasattr(model, "trajectories"):
        raise CannotContinueError(NO_ORDER)
    predict = getattr(model, "predict", None)
    if predict is not None and "action_masks" not in inspect.signature(predict).parameters:
        raise CannotContinueError(NO_MASKS)
    return play(_acquiring(as_actor(model), rules.n_acquisitions), test, rules)


def _acquiring(
    actor: Callable[[NDArray, NDArray], ArrayLike], n_acquisitions: int
) -> Callable[[NDArray, NDArray], ArrayLike]:
    """The actor, to which answers are shown as illegal while an acquisition is legal."""

    def actions(observations: NDArray, legal: NDArray[np.bool_]) -> ArrayLike:
        offered = legal.copy()
        offered[legal[:, :n_acquisitions].any(axis=1), n_acquisitions:] = False
        chosen = np.asarray(actor(observations, offered))
        if not offered[np.arange(len(offered)), chosen].all():
            raise CannotContinueError(IGNORES_MASKS)
        return chosen

    return actions
