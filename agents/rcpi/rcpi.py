"""The loop of Rollouts Classification Policy Iteration."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from agents import model_file
from agents.inputs import cheapest_constant_answer, training_rows
from agents.parallel import TaskRunner, task_runner
from agents.policy import MAX_LOSS, check_fits, legal_from
from agents.rcpi.base_learners import BaseLearners
from agents.rcpi.kernels import ActionScores
from agents.rcpi.nonzero import check_nonzero, nonzero_returns
from agents.rcpi.on_policy import sample_prefixes
from agents.rcpi.policy import LinearPolicy, best_constant_policy
from agents.rcpi.regression import Design
from agents.rcpi.rollouts import Mixture, rollout_returns
from agents.rcpi.rows import UnusedAcquisitions, blanked, few_zeros, training_parts
from agents.rcpi.sampling import EQUAL_SHARES, States, sample_states
from fsgym.data.dataset import Dataset
from fsgym.data.scaling import Scaling
from fsgym.data.weights import cumulative_shares
from fsgym.envs.trajectories import Trajectories
from fsgym.evaluation.evaluate import Evaluation, evaluate
from fsgym.methods import METHODS
from fsgym.rules import Rules
from fsgym.support.checks import check_choice, check_n_jobs, check_random_state, generator_of
from fsgym.text.messages import brief, suggests_parameters

# The parameters of RCPI: their ranges and choices, and a check of them.

RANGES = {  # lowest, highest, whether whole
    "n_iterations": (1, 1e6, True),
    "n_rollouts": (1, 1e6, True),
    "patience": (1, 1e6, True),
    "drop_unused": (1, 1e6, True),
    "tol": (0, 1e9, False),
    "states_per_sample": (1e-9, 1e6, False),
    "ridge": (1e-6, 1e6, False),  # with less, the single-precision Gram matrices may be singular
    "alpha": (0, 1, False),
    "unknown": (0, 1, False),
}
MAY_BE_NONE = {"patience", "drop_unused"}
WHY_BELOW_1 = {
    "alpha": "otherwise no new policy is mixed in",
    "unknown": "otherwise nothing could be acquired in training",
}
FLAGS = ("intercept", "nonzero")
CHOICES = {
    "acquisitions": ("incremental", "linear", "trees"),
    "answers": ("linear", "logistic"),
    "states": ("uniform", "policy", "both"),
    "mixture": ("decision", "trajectory"),
    "start": ("uniform", "answer"),
    "select": ("best", "last"),
    "uninformative": ("drop", "keep"),
}


def check_rcpi_parameters(agent: Any) -> None:
    """Raise ValueError or TypeError in one sentence unless the parameters, attributes of ``agent``, are valid."""
    for name, (low, high, whole) in RANGES.items():
        value = getattr(agent, name)
        if value is not None or name not in MAY_BE_NONE:
            check_range(value, name, low, high, whole)
        if name in WHY_BELOW_1 and value == 1:
            raise ValueError(f"{name} must be below 1, {WHY_BELOW_1[name]}")
    for name in FLAGS:
        if not isinstance(getattr(agent, name), bool | np.bool_):
            raise ValueError(f"{name} must be True or False, got {brief(getattr(agent, name))}")
    for name, choices in CHOICES.items():
        check_choice(getattr(agent, name), name, *choices)
    if agent.drop_unused is not None and agent.drop_unused >= agent.n_iterations:
        raise ValueError(
            f"drop_unused must be less than n_iterations={agent.n_iterations}, otherwise nothing is dropped in time, "
            f"got {agent.drop_unused}"
        )
    check_n_jobs(agent.n_jobs)
    check_random_state(agent.random_state)


def check_range(value: Any, name: str, low: float, high: float, whole: bool = False) -> None:
    """Raise ValueError unless ``value`` is a number from ``low`` to ``high``, and a whole one if ``whole``."""
    kinds = (int, np.integer) if whole else (int, float, np.integer, np.floating)
    if isinstance(value, bool) or not isinstance(value, kinds) or not low <= value <= high:
        kind = "a whole number" if whole else "a number"
        raise ValueError(f"{name} must be {kind} from {low:g} to {high:g}, got {brief(value)}")


def weighted_means(result: Evaluation, weight: NDArray[np.float64] | None) -> dict[str, float]:
    """Weighted means over the rows of an evaluation: loss, n_acquisitions, and accuracy of those that are answered."""
    if weight is None:
        return {name: getattr(result, name) for name in ("loss", "accuracy", "n_acquisitions")}
    n_acquisitions = (result.trajectories.order >= 0).sum(axis=1)  # type: ignore[union-attr]
    by_row = {"loss": (result.losses, weight), "n_acquisitions": (n_acquisitions, weight)}
    by_row["accuracy"] = result.answers == result.dataset.y, weight * result.answered
    return {name: float(w @ values / w.sum()) if w.any() else np.nan for name, (values, w) in by_row.items()}


@contextmanager
def progress(total: int, shown: bool) -> Iterator[Callable[[], None]]:
    """The function to call after each iteration: it advances a progress bar on the error stream, or does nothing."""
    if not shown:
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("RCPI", total=total)
        yield lambda: bar.advance(task)


Callback = Callable[[dict[str, float]], "bool | None"]
# Of the states, with states="both". By trials on 13 tables, whose names were not recorded;
# benchmarks/rcpi_choices.py compares it with other shares on six.
POLICY_SHARE = 0.75


class RCPI:
    """Rollouts Classification Policy Iteration (RCPI) for any environment of this package.

    Approximate policy iteration with policies instead of value functions (Dulac-Arnold, Denoyer, Preux and Gallinari,
    2012, section 3.4). The behaviour policy is a mixture of greedy policies and of the first one, see ``start``. Each
    iteration samples states, estimates the return of each legal acquisition in some of them by Monte Carlo rollouts of
    the mixture, fits one linear score per action to the returns, and mixes the policy that is greedy for these scores
    into the mixture with weight 1 - alpha. The result is one of the greedy policies.

    Parameters
    ----------
    env : environment of this package
        Provides the training data and the rules; it may be wrapped.
    n_iterations : int, default 10
        Number of policy iterations, as in the paper, whose results are stable after 4 or 5.
    states_per_sample : float, default 10
        States sampled in each iteration, per row of the data set. Answers are fitted to all of them. With
        ``acquisitions="incremental"``, rollouts are made in every third of them, otherwise in all.
    alpha : float in [0, 1), default 0.7
        Weight of the old mixture in the new one.
    ridge : float from 1e-6, default 1e-3
        Penalty of each regression that starts anew, multiplied by its number of rows; intercepts are not penalised.
    intercept : bool, default True
        Whether scores have a constant term. The paper's phi(x, z) shows none, but its "classical linear regression"
        has one. Without it all scores are 0 where nothing is acquired, and the tie goes to the first legal acquisition:
        at any price each row makes it, and none is answered at once. False is for comparisons with that formula.
    acquisitions : {"incremental", "linear", "trees"}, default "incremental"
        How the worth of an acquisition is estimated. "incremental": by linear scores that take a step of least squares
        in each iteration, from those of the iteration before; the returns are compared with what the best answer in
        the state brings in that row, which removes most of their noise (``agents.rcpi.regression.stepped_scores``).
        "linear": by a ridge regression in each iteration, as in the paper; training takes twice as long.
        "trees": by boosted regression trees on the known values (``agents.rcpi.base_learners``). With trees, training
        takes 30 times as long, the loss on most tables is higher, ``ridge`` and ``intercept`` are for answers
        alone, and there is no export.
    answers : {"linear", "logistic"}, default "logistic"
        How the worth of an answer is estimated. "linear": by a ridge regression, as in the paper. Where classes lie
        in a row, the scores of those in the middle are then too low. "logistic": minus the expected error cost under
        class probabilities by multinomial logistic regression on [1, z, mu].
    states : {"uniform", "policy", "both"}, default "both"
        The training states, of which the paper names two kinds. "uniform": each acquisition is made with probability
        1/2; with thirty features, states near the start of an episode are hardly ever seen. "policy": prefixes of the
        episodes of the mixture, see ``agents.rcpi.on_policy``; once it stops immediately, it may do so for ever, since
        it sees no other states. "both": three quarters of the policy, the rest uniform.
    mixture : {"trajectory", "decision"}, default "decision"
        When a policy is drawn from the mixture in a rollout. "trajectory": once per rollout. "decision": at each
        decision, as in the paper. With uniform states the uniform policy then takes part in nearly every long rollout,
        so that acquisitions seem expensive, and "trajectory" has the lower loss; with states of the policy "decision"
        has.
    start : {"answer", "uniform"}, default "answer"
        The first policy pi_0. "answer": it answers immediately, by answers fitted on uniform states, so that the first
        iteration learns which single acquisition pays. "uniform": uniform over the legal actions; its long random
        episodes make acquisitions seem expensive in the first iterations. On average both are level.
    n_rollouts : int, default 1
        Number of rollouts whose mean estimates one return.
    select : {"best", "last"}, default "best"
        The policy to return. "best": the one with the lowest training loss; of equal losses that of the policy that
        acquires nothing, then of the earliest iteration. "last": that of the last iteration, as in the paper. On other
        data the loss is usually higher. The latest policy within 0.25 to 1 standard errors of the lowest loss, or that
        with fewest or most acquisitions, has no lower test loss and varies no less (``benchmarks/rcpi_choices.py``).
    unknown : float from 0 to below 1, default 0
        Share of the acquisitions that are unavailable in training, drawn at random for each row: in each iteration, and
        once for the rows that select the policy. The paper's algorithm is 0. With about 0.2 the policy also learns what
        to acquire where a value cannot be obtained.
    nonzero : bool, default False
        Whether rollouts try only acquisitions that bring a value other than 0, for tables of mostly zeros (section
        5.2). In each sampled state one further rollout serves all the others, see ``agents.rcpi.nonzero``, and uniform
        states have about as many acquired zeros as other values. A policy may still acquire a 0. Values are those of
        the data set; a scaling such as ``Dataset.scaled`` moves 0, and a warning says where few are 0. Not for
        relational prices.
    drop_unused : int, optional
        Drop an acquisition, from then on, once no row's trajectory under the greedy policies of this many iterations in
        a row, less than ``n_iterations``, has made it (section 7); never all of them. Later policies never prefer it to
        another action. With few, a bad policy may drop what better ones need. By default nothing is dropped.
    uninformative : {"drop", "keep"}, default "drop"
        Whether acquisitions that tell nothing new by the training rows are dropped from the start: constant columns,
        and those that repeat a column which costs no more, unless they make others legal or cheaper. The paper's
        algorithm keeps them.
    patience : int, optional
        Hold out a fifth of the rows, and stop when the loss on them has not improved by ``tol`` for this many
        iterations. "best" then refers to that loss.
    tol : float, default 1e-4, see ``patience``
    class_weight : None, "balanced" or mapping label -> weight, default None
        Weights of the classes, as in scikit-learn; a class without an entry has weight 1.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the rows of the data set, at least 0. The weight of a row is its own times that of its class.
        Training states are sampled with a probability proportional to the weight of their row, and all means over rows
        are weighted: the losses that select a policy and the figures of ``history``. A constant factor changes nothing;
        rows with weight 0 are left out.
    n_jobs : int, optional
        Number of threads, as in scikit-learn. Results do not depend on it.
    random_state : int, numpy Generator or RandomState, optional

    Attributes
    ----------
    policy : LinearPolicy or None
        The trained policy; after an interrupted ``learn``, the best one so far.
    history : list of dict
        One entry per iteration: the dict that ``learn`` passes to its callback.
    dropped : bool (n_acquisitions,) or None
        The acquisitions that ``learn`` has dropped.

    Raises
    ------
    ValueError, TypeError
        If parameters are invalid.

    Examples
    --------
    >>> import fsgym, gymnasium
    >>> from agents import RCPI
    >>> env = gymnasium.make("fsgym:DatumWise-v0", lam=0.01)
    >>> agent = RCPI(env, n_iterations=3, random_state=0).learn()
    >>> result = fsgym.evaluate(agent, gymnasium.make("fsgym:DatumWise-v0", lam=0.01, split="test"))
    >>> result.accuracy > 0.85, result.n_features < 20
    (True, True)
    """

    @suggests_parameters
    def __init__(
        self,
        env: Any,
        *,
        n_iterations: int = 10,
        states_per_sample: float = 10,
        alpha: float = 0.7,
        ridge: float = 1e-3,
        intercept: bool = True,
        acquisitions: Literal["incremental", "linear", "trees"] = "incremental",
        answers: Literal["linear", "logistic"] = "logistic",
        states: Literal["uniform", "policy", "both"] = "both",
        mixture: Literal["trajectory", "decision"] = "decision",
        start: Literal["uniform", "answer"] = "answer",
        n_rollouts: int = 1,
        select: Literal["best", "last"] = "best",
        unknown: float = 0.0,
        nonzero: bool = False,
        drop_unused: int | None = None,
        uninformative: Literal["drop", "keep"] = "drop",
        patience: int | None = None,
        tol: float = 1e-4,
        class_weight: Any = None,
        sample_weight: ArrayLike | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.Generator | np.random.RandomState | None = None,
    ) -> None:
        inner = getattr(env, "unwrapped", env)
        if not isinstance(getattr(inner, "dataset", None), Dataset) or not isinstance(
            getattr(inner, "rules", None), Rules
        ):
            raise TypeError(f"RCPI needs an environment of fsgym, got {type(env).__name__}")
        self.n_iterations, self.states_per_sample = n_iterations, states_per_sample
        self.alpha, self.ridge, self.intercept = alpha, ridge, intercept
        self.acquisitions, self.answers, self.states = acquisitions, answers, states
        self.mixture, self.start, self.n_rollouts = mixture, start, n_rollouts
        self.select, self.unknown, self.nonzero, self.drop_unused = select, unknown, nonzero, drop_unused
        self.uninformative = uninformative
        self.patience, self.tol, self.n_jobs, self.random_state = patience, tol, n_jobs, random_state
        check_rcpi_parameters(self)
        self._learners = BaseLearners(ridge, answers, acquisitions)
        self.dataset, self.weight = training_rows(inner.dataset, class_weight, sample_weight)
        self.rules: Rules = inner.rules
        if self.rules.costs_by_case:
            raise ValueError(
                "RCPI plans with one price for each acquisition, but the environment has prices by case; make it with "
                "rules.at_prices(), their means, or use AdaptiveClassifier or MixtureClassifier"
            )
        if self.rules.n_acquisitions > np.iinfo(np.int16).max:
            raise ValueError(f"RCPI needs fewer than 32768 acquisitions, got {self.rules.n_acquisitions}; make groups")
        self.rules.check_largest_loss(MAX_LOSS)
        if nonzero:
            check_nonzero(self.dataset, self.rules)
        self.policy: LinearPolicy | None = None
        self.history: list[dict[str, float]] = []
        self.dropped: NDArray[np.bool_] | None = None

    @classmethod
    def published(cls, env: Any, **options: Any) -> RCPI:
        """RCPI in a reading of Dulac-Arnold et al. (2012) that adds as little as possible.

        The states are uniform (section 3.4, step 1), a policy is drawn from the mixture at each decision, the
        regressions are least squares (step 3; with a penalty of 1e-6, so that they can be solved), there are ten
        iterations (section 6.1), and the last policy is returned. The paper does not say whether its linear regression
        has a constant term. Here it has one: otherwise no policy could answer at once, and the paper says that a high
        lambda "chooses to select no features". ``options`` are other or further parameters, such as
        ``intercept=False``.
        """
        return cls(env, **{**METHODS["rcpi_printed"].preset, **options})

    def learn(self, callback: Callback | None = None, progress_bar: bool = False) -> RCPI:
        """Train on the data set of the environment, always from scratch.

        Parameters
        ----------
        callback : callable, optional
            Called after each iteration with a dict of numbers: iteration, loss, accuracy and n_acquisitions (of the
            new policy on the training data, or on the held-out rows with ``patience``; weighted means), best_loss,
            seconds. Training stops if it returns False.
        progress_bar : bool, default False

        Returns
        -------
        self
        """
        if not hasattr(self, "dataset"):
            raise ValueError("this agent was loaded without an environment; use RCPI.load(path, env) to train it")
        rng = generator_of(self.random_state)
        (train, weight), (evaluation, evaluation_weight) = training_parts(
            self.dataset, self.weight, self.patience is not None, rng
        )
        shares = EQUAL_SHARES if weight is None else cumulative_shares(weight)
        rules, scaling = self.rules, Scaling.fit(train.X)
        scaled = scaling.apply(train.X)
        evaluation = blanked(evaluation, evaluation.X, rules, self.unknown, rng)[0]
        empty_answer = cheapest_constant_answer(train, weight, rules.answer_costs)
        self.history, self.policy, self.dropped, n_stale = [], None, None, 0
        self.training_origin_ = self.dataset.origin
        unused, best_loss = UnusedAcquisitions(rules, self.drop_unused), np.inf
        if self.uninformative == "drop":
            train = unused.without_uninformative(train)

        with task_runner(self.n_jobs) as run, progress(self.n_iterations, progress_bar) as tick:
            mixture, scores = self._first_mixture(train, scaled, shares, rng, run)
            for t in range(1, self.n_iterations + 1):
                began = time.perf_counter()
                seeds = rng.integers(2**63, size=2)
                rows, values = blanked(train, scaled, rules, self.unknown, rng)
                states = self._sample(rows, values, mixture, shares, int(seeds[0]), run)
                tried = states.every(self._learners.rollout_every)
                returns, legal = self._returns(tried, rows, values, mixture, int(seeds[1]), run)
                design = Design(states, values, rules, self.intercept)
                scores = self._learners.fit(design, train.y, returns, legal, run, scores)
                mixture = mixture.mixed(scores, self.alpha)

                if t == 1 and self.select == "best":  # the first candidate acquires nothing
                    self.policy = best_constant_policy(train, weight, scaling, rules)
                    best_loss = weighted_means(evaluate(self.policy, evaluation, rules), evaluation_weight)["loss"]
                policy = LinearPolicy(*scores[:2], scaling, rules, scores.logistic, empty_answer, scores.trees)
                evaluated = evaluate(policy, evaluation, rules)
                train, self.dropped = unused.dropped_from(train, evaluated.trajectories)  # type: ignore[arg-type]
                result = weighted_means(evaluated, evaluation_weight)
                n_stale = 0 if result["loss"] < best_loss - self.tol else n_stale + 1
                if self.select == "last" or result["loss"] < best_loss:
                    self.policy = policy
                best_loss = min(best_loss, result["loss"])
                seconds = time.perf_counter() - began
                self.history.append({"iteration": t, **result, "best_loss": best_loss, "seconds": seconds})
                tick()
                stopped = callback is not None and callback(dict(self.history[-1])) is False
                if stopped or (self.patience is not None and n_stale >= self.patience):
                    break
        return self

    def _first_mixture(
        self,
        rows: Dataset,
        scaled: NDArray[np.float32],
        shares: NDArray[np.float64],
        rng: np.random.Generator,
        run: TaskRunner,
    ) -> tuple[Mixture, ActionScores | None]:
        """The mixture of pi_0 alone, and its scores; one that answers immediately has answers of uniform states."""
        mixture = Mixture.uniform(self.rules, self.mixture == "trajectory")
        if self.start == "uniform":
            return mixture, None
        seed = int(rng.integers(2**63))
        rows, values = blanked(rows, scaled, self.rules, self.unknown, rng)
        states = self._uniform_states(rows, self._n_states(rows), seed, shares)
        design = Design(states, values, self.rules, self.intercept)
        n_tried = len(states.rows[:: self._learners.rollout_every])
        none = np.zeros((n_tried, self.rules.n_acquisitions), np.float32)
        scores = self._learners.fit(design, rows.y, none, none.astype(bool), run)
        return mixture.mixed(scores, 0.0), scores

    def _n_states(self, rows: Dataset) -> int:
        return max(1, round(self.states_per_sample * rows.n_samples))

    def _uniform_states(self, rows: Dataset, n_states: int, seed: int, shares: NDArray[np.float64]) -> States:
        X = few_zeros(rows, self.rules, seed) if self.nonzero else rows.X
        return sample_states(X, self.rules, n_states, seed, shares)

    def _sample(
        self,
        rows: Dataset,
        values: NDArray[np.float32],
        mixture: Mixture,
        shares: NDArray[np.float64],
        seed: int,
        run: TaskRunner,
    ) -> States:
        """The training states of an iteration; of "both", the uniform ones come first."""
        n_states = self._n_states(rows)
        n_followed = {"uniform": 0, "policy": n_states, "both": int(POLICY_SHARE * n_states)}[self.states]
        states = self._uniform_states(rows, n_states - n_followed, seed, shares)
        if n_followed:
            followed = States.blank(n_followed, self.rules)
            sample_prefixes(followed, rows, values, mixture, self.rules, seed=seed, run=run, shares=shares)
            states = states.joined(followed)
        return states

    def _returns(
        self,
        states: States,
        dataset: Dataset,
        values: NDArray[np.float32],
        mixture: Mixture,
        seed: int,
        run: TaskRunner,
    ) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """Returns of the acquisitions in the sampled states, and which are legal; see ``rollout_returns``."""
        estimate = nonzero_returns if self.nonzero else rollout_returns
        return estimate(states, dataset, values, mixture, self.rules, n_rollouts=self.n_rollouts, seed=seed, run=run)

    def predict(
        self,
        observation: NDArray[np.float32],
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = True,
        action_masks: NDArray | None = None,
    ) -> tuple[NDArray[np.int64], None]:
        """Actions for observations, with the signature of ``predict`` in Stable-Baselines3.

        Parameters
        ----------
        observation : float32 (2 n_features,) or (n, 2 n_features)
        state, episode_start, deterministic
            Ignored, for compatibility: the policy has no memory and is deterministic.
        action_masks : array (n_actions,) or (n, n_actions), optional
            The legal actions. Without it they are derived from the mask z in the observation, which shows neither
            missing values nor, if prices depend on the order, what was spent; pass it in these cases.

        Returns
        -------
        actions : int64, of shape () or (n,)
        state : None
        """
        policy = self._fitted_policy()
        observations = np.asarray(observation, dtype=np.float32)
        single = observations.ndim == 1
        observations = np.atleast_2d(observations)
        n, A = self.rules.n_features, self.rules.n_actions
        if observations.ndim != 2 or observations.shape[1] != 2 * n:
            raise ValueError(f"observation must have shape ({2 * n},) or (n, {2 * n}), got {np.shape(observation)}")
        acquired = observations[:, :n] > 0.5
        if action_masks is None:
            legal = legal_from(acquired, self.rules)
        else:
            legal = np.atleast_2d(np.asarray(action_masks)).astype(bool)
            if legal.shape != (len(observations), A):
                raise ValueError(f"action_masks must have shape ({len(observations)}, {A}), got {legal.shape}")
        actions = policy.actions(acquired, observations[:, n : 2 * n], legal)
        return (actions[0] if single else actions), None

    def trajectories(self, X: Any, rules: Rules | None = None, *, continue_after_stop: bool = False) -> Trajectories:
        """Classify the rows of ``X``, acquiring feature by feature; see ``Policy.trajectories``."""
        policy = self._fitted_policy()
        return policy.trajectories(X, rules or self.rules, continue_after_stop=continue_after_stop)

    def save(self, path: str | os.PathLike) -> None:
        """Save the trained policy to a model file (safetensors with a JSON header)."""
        model_file.save(path, self._fitted_policy(), {})

    @classmethod
    def load(cls, path: str | os.PathLike, env: Any = None) -> RCPI:
        """Load an agent from a model file; ``env`` is needed only to train it again or to act under other rules.

        The file has the policy alone: the parameters have their defaults, and ``history`` is empty. Raises OSError or
        ValueError if the file cannot be read, is damaged or does not fit the environment.
        """
        policy, _ = model_file.load(path, LinearPolicy)
        agent = cls.__new__(cls)
        if env is not None:
            agent = cls(env)
            check_fits(agent.rules, policy.rules)
        else:
            agent.rules = policy.rules
        agent.policy, agent.history, agent.dropped = policy, [], None
        return agent

    def _fitted_policy(self) -> LinearPolicy:
        if self.policy is None:
            from sklearn.exceptions import NotFittedError

            raise NotFittedError("this agent is not trained yet; call learn() first")
        return self.policy
