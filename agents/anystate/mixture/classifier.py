"""The classifier with class-conditional mixtures."""

from __future__ import annotations

from typing import Any, Unpack

from numpy.typing import NDArray

from agents.anystate.classifier import BaseAnyStateClassifier, ModelsAt
from agents.anystate.mixture.fitting import fit_mixtures
from agents.anystate.mixture.model import MixtureModel, model_of
from agents.anystate.policy import AnyStatePolicy
from agents.calibration import Calibration
from agents.tradeoff import TrainingTask
from fsgym.rules.options import RuleOptionsButLam, takes_rule_options
from fsgym.support.checks import is_integer
from fsgym.text.messages import brief


class MixturePolicy(AnyStatePolicy):
    """The policy around a ``MixtureModel``.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_wine
    >>> from agents import MixtureClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> policy = MixtureClassifier(lam=0.05, random_state=0).fit(X[:, [6, 10]], y).policy_
    >>> policy.state_probabilities(np.zeros((1, 2), bool), np.zeros((1, 2), np.float32)).round(2).tolist()
    [[0.33, 0.4, 0.27]]
    """

    kind = "mixture"
    takes_case_costs = True
    model_class = MixtureModel


class MixtureClassifier(BaseAnyStateClassifier):
    """A classifier that acquires the features of each row one by one, by a mixture of distributions of each class.

    Within each class the rows come from a few components, in each of which the features are independent: numbers are
    normal, and columns of few values are categories; a number that training did not see counts as the nearest one that
    it saw. The probabilities of the classes given any of the values follow exactly; gradient steps tune them where that
    helps on held-out rows. Each acquisition is ranked by how much it is expected to lower the error cost and the
    uncertainty about class and component, per price. Whether to go on is decided by a regression on realised returns
    (Longstaff and Schwartz, 2001). A case is answered after 100 acquisitions at the latest, beyond those that are
    always known: training follows rows for 25.

    Parameters
    ----------
    lam : float, default 0.01
        Exchange rate between cost and errors: the value of one unit of ``costs``, in units of ``error_costs``. Ignored
        if a target is given.
    n_components : int, optional
        Components of each class; by default 1, 2, 4 or 8, chosen on held-out rows.
    n_steps : int, optional
        Gradient steps that tune the probabilities; by default 0, 150 or 600, chosen on held-out rows.
    target_cost, target_features : float, optional
        Instead of ``lam``: the upper limit of the mean cost of a row's acquisitions, or of the number of features used
        per row, as in ``LatticeClassifier``.
    calibration : {"none", "auto", "temperature"}, default "none"
        Whether the class probabilities are calibrated on the training rows, as in ``LatticeClassifier``.
    known : list of names or positions of columns, optional
        Columns that are available for every row at no cost, as in ``LatticeClassifier``.
    class_weight : None, "balanced" or mapping label -> weight, default None
    n_jobs : int, optional
        Not used: the mixtures are fitted in one thread.
    random_state : int, numpy Generator or RandomState, optional
    budget, budget_cost, costs, error_costs, groups, ...
        All options of ``fsgym.Rules``, with the same defaults.

    Attributes
    ----------
    training_loss_ : float, or None for a loaded classifier
        Mean loss of the training rows, out of fold.
    lam_, expected_cost_, expected_n_features_, calibration_
        As in ``LatticeClassifier``.
    policy_ : MixturePolicy

    Raises
    ------
    ValueError, TypeError
        If data or parameters are invalid.

    References
    ----------
    Longstaff and Schwartz (2001), Valuing American options by simulation: a simple least-squares approach.

    Examples
    --------
    >>> from agents import MixtureClassifier
    >>> from fsgym.datasets import Cube
    >>> train, test = Cube().sample(400, random_state=0), Cube().sample(400, random_state=1)
    >>> model = MixtureClassifier(lam=0.01, random_state=0).fit(train)
    >>> bool(model.score(test.X, test.classes[test.y]) > 0.9), bool(model.features_used(test).sum(axis=1).mean() < 8)
    (True, True)
    """

    policy_class = MixturePolicy
    takes_case_costs = True
    length_parameter = "n_steps"

    @takes_rule_options
    def __init__(
        self,
        lam: float = 0.01,
        *,
        n_components: int | None = None,
        n_steps: int | None = None,
        target_cost: float | None = None,
        target_features: float | None = None,
        calibration: Calibration = "none",
        known: Any = None,
        class_weight: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        **rule_options: Unpack[RuleOptionsButLam],
    ) -> None:
        self._set_rule_options(lam=lam, **rule_options)
        self.n_components = n_components
        self.n_steps = n_steps
        self.target_cost = target_cost
        self.target_features = target_features
        self.calibration = calibration
        self.known = known
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _models(self, task: TrainingTask, fold: NDArray, seed: int) -> ModelsAt:
        for name, value, least in (("n_components", self.n_components, 1), ("n_steps", self.n_steps, 0)):
            if value is not None and (not is_integer(value) or value < least):
                raise ValueError(f"{name} must be None or a whole number from {least}, got {brief(value)}")
        n_components, n_steps = self.n_components, self.n_steps
        fitted = fit_mixtures(task.dataset, fold, task.weight, seed, n_components, n_steps, task.telling)
        return lambda rules: model_of(fitted, rules)
