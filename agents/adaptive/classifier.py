"""The classifier that chooses its learner."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Literal, Unpack

from agents.adaptive.choice import ChoosingLearner
from agents.adaptive.learners import LEARNERS
from agents.adaptive.policy import ChosenPolicy
from agents.adaptive.report import LearnerReport
from agents.model_file import Labels
from agents.tradeoff import BaseTradeoffClassifier, TrainingTask
from fsgym.rules.options import RuleOptionsButLam, takes_rule_options
from fsgym.text.messages import explain_unknown


class AdaptiveClassifier(BaseTradeoffClassifier):
    """A classifier that acquires the features of each row one by one, learnt by the learner that suits the data.

    With ``learner="auto"`` the learners are compared on rows that are held out of their training, at each value of
    ``lam``, and the best one is trained on all rows. Up to 1,000 rows it is the lattice unless another one is better by
    a standard error. The network is tried for 1,000 rows and more, and where the lattice ran into its limits.

    Parameters
    ----------
    lam : float, default 0.01
        Exchange rate between cost and errors: the value of one unit of ``costs``, in units of ``error_costs``. Ignored
        if a target is given.
    learner : {"auto", "lattice", "mixture", "network"}, default "auto"
        "lattice": ``LatticeClassifier``, one classifier for each of some hundred subsets of the features. "mixture":
        ``MixtureClassifier``, a mixture of distributions for each class. "network": ``AnyStateNetworkClassifier``, a
        neural network for all subsets.
    target_cost, target_features : float, optional
        Instead of ``lam``, as in ``LatticeClassifier``.
    known : list of names or positions of columns, optional
        Columns that are available for every row at no cost, as in ``LatticeClassifier``.
    class_weight : None, "balanced" or mapping label -> weight, default None
    n_jobs : int, optional
        Number of threads, as in scikit-learn. Results do not depend on it.
    random_state : int, numpy Generator or RandomState, optional
    budget, budget_cost, costs, error_costs, groups, ...
        All options of ``fsgym.Rules``, with the same defaults.

    Attributes
    ----------
    learner_ : str, the learner of ``policy_``
    report_ : LearnerReport
        Which learner was chosen and why, what was tried, and how long it took.
    lam_, expected_cost_, expected_n_features_
        As in ``LatticeClassifier``.
    policy_ : ChosenPolicy

    Raises
    ------
    ValueError, TypeError
        If data or parameters are invalid.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from agents import AdaptiveClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = AdaptiveClassifier(lam=0.01, learner="lattice", random_state=0).fit(X[:300], y[:300])
    >>> model.report_.reason
    "learner='lattice' was given"
    """

    policy_class = ChosenPolicy

    policy_: ChosenPolicy
    learner_: str
    report_: LearnerReport

    @takes_rule_options
    def __init__(
        self,
        lam: float = 0.01,
        *,
        learner: Literal["auto", "lattice", "mixture", "network"] = "auto",
        target_cost: float | None = None,
        target_features: float | None = None,
        known: Any = None,
        class_weight: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        **rule_options: Unpack[RuleOptionsButLam],
    ) -> None:
        self._set_rule_options(lam=lam, **rule_options)
        self.learner = learner
        self.target_cost = target_cost
        self.target_features = target_features
        self.known = known
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state

    @contextmanager
    def _learner(self, task: TrainingTask) -> Iterator[ChoosingLearner]:
        if self.learner != "auto" and self.learner not in LEARNERS:
            raise ValueError(explain_unknown("learner", self.learner, ["auto", *LEARNERS]))
        names = list(LEARNERS) if self.learner == "auto" else [self.learner]
        with ExitStack() as stack:
            learners = {name: LEARNERS[name](n_jobs=self.n_jobs)._learner for name in names}
            trials = dict(learners)
            if "lattice" in names:  # rows of the trial lack no value that others have
                trials["lattice"] = LEARNERS["lattice"](n_jobs=self.n_jobs, unknown=0)._learner  # type: ignore[call-arg]
            yield ChoosingLearner(task, trials, learners, stack)

    def _restore(self, policy: ChosenPolicy, header: dict[str, Any], labels: Labels) -> None:
        super()._restore(policy, header, labels)
        self.learner_, self.report_ = policy.learner, policy.report
