"""The loop of Rollouts Classification Policy Iteration."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Literal

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray

from agents import model_file
from agents.policy import legal_from
from agents.rcpi.kernels import NEVER, padded
from agents.rcpi.policy import LinearPolicy
from agents.rcpi.regression import fit_scores
from agents.rcpi.rollouts import Mixture, rollout_returns
from agents.rcpi.sampling import sample_states
from fsgym.checks import brief, check_n_jobs, check_random_state, generator_of
from fsgym.dataset import Dataset, Scaling
from fsgym.evaluation import Trajectories, evaluate
from fsgym.rules import Rules
from fsgym.threads import one_blas_thread

Callback = Callable[[dict[str, float]], "bool | None"]
LARGEST_LOSS = 1e9  # returns are single precision, and scores must stay above that of what cannot be chosen


class RCPI:
    """Rollouts Classification Policy Iteration for any environment of this package.

    Each iteration samples states, rolls out every legal acquisition from them with the current mixture of
    policies, fits one linear score an action to the returns, and mixes the greedy policy for these scores in
    (Dulac-Arnold, Denoyer, Preux and Gallinari, 2012, section 3.4).

    Parameters
    ----------
    env : environment of this package
        Its data set is learnt from, under its rules; wrappers are looked through.
    n_iterations : int, default 10
        Policies learnt (the paper: stable after 4 or 5).
    states_per_sample : float, default 10
        States sampled in each iteration, per row of the data set.
    alpha : float in [0, 1), default 0.7
        Weight of the old mixture in the new one.
    ridge : float from 1e-6, default 1e-3
        Shrinkage of each regression on all but the intercept, times its number of rows.
    mixture : {"trajectory", "decision"}, default "trajectory"
        When a policy of the mixture is drawn: once a rollout, or at each decision, as in the paper. With a draw at
        each decision the uniform policy spoils nearly every long rollout, so that acquiring looks dear: on data with
        thirty or more features that asks for more and ends with a higher loss, and is slower.
    n_rollouts : int, default 1
        Rollouts averaged for one return.
    select : {"best", "last"}, default "best"
        The policy kept: that of the lowest training loss, "answer at once" being one of the candidates, or the
        last (the paper). The training loss is no estimate of the loss on other data.
    patience : int, optional
        Stop when the loss on a fifth of the data, held out, has not improved by ``tol`` for this many
        iterations; "best" then goes by that loss.
    tol : float, default 1e-4
    n_jobs : int, optional
        Threads, as in scikit-learn. Results do not depend on it.
    random_state : int, numpy Generator or RandomState, optional

    Attributes
    ----------
    policy : LinearPolicy or None
        What was learnt; after an interrupted ``learn``, the best so far.
    history : list of dict
        The numbers given to the callback, one dict an iteration.

    Raises
    ------
    ValueError, TypeError
        For parameters out of range.

    Examples
    --------
    >>> import fsgym, gymnasium
    >>> from agents import RCPI
    >>> env = gymnasium.make("DatumWise-v0", lam=0.01)
    >>> agent = RCPI(env, n_iterations=3, random_state=0).learn()
    >>> result = fsgym.evaluate(agent, gymnasium.make("DatumWise-v0", lam=0.01, split="test"))
    >>> result.accuracy > 0.85, result.n_features < 20
    (True, True)
    """

    def __init__(
        self,
        env: Any,
        *,
        n_iterations: int = 10,
        states_per_sample: float = 10,
        alpha: float = 0.7,
        ridge: float = 1e-3,
        mixture: Literal["trajectory", "decision"] = "trajectory",
        n_rollouts: int = 1,
        select: Literal["best", "last"] = "best",
        patience: int | None = None,
        tol: float = 1e-4,
        n_jobs: int | None = None,
        random_state: int | np.random.Generator | np.random.RandomState | None = None,
    ) -> None:
        inner = getattr(env, "unwrapped", env)
        if not isinstance(getattr(inner, "dataset", None), Dataset) or not isinstance(
            getattr(inner, "rules", None), Rules
        ):
            raise TypeError(f"RCPI needs an environment of fsgym, got {type(env).__name__}")
        _number(n_iterations, "n_iterations", 1, 1e6, whole=True)
        _number(n_rollouts, "n_rollouts", 1, 1e6, whole=True)
        if patience is not None:
            _number(patience, "patience", 1, 1e6, whole=True)
        check_n_jobs(n_jobs)
        _number(tol, "tol", 0, 1e9)
        _number(states_per_sample, "states_per_sample", 1e-9, 1e6)
        _number(ridge, "ridge", 1e-6, 1e6)  # the sums are of single precision: with less they cannot be solved
        _number(alpha, "alpha", 0, 1)
        if alpha == 1:
            raise ValueError("alpha must be below 1, or nothing would be learnt")
        check_random_state(random_state)
        if not isinstance(mixture, str) or mixture not in ("decision", "trajectory"):
            raise ValueError(f"mixture must be 'decision' or 'trajectory', got {brief(mixture)}")
        if not isinstance(select, str) or select not in ("best", "last"):
            raise ValueError(f"select must be 'best' or 'last', got {brief(select)}")
        self.dataset: Dataset = inner.dataset
        self.rules: Rules = inner.rules
        if self.rules.n_acquisitions > np.iinfo(np.int16).max:
            raise ValueError(f"RCPI needs fewer than 32768 acquisitions, got {self.rules.n_acquisitions}; make groups")
        self.rules.check_largest_loss(LARGEST_LOSS)
        self.n_iterations, self.states_per_sample = n_iterations, states_per_sample
        self.alpha, self.ridge = alpha, ridge
        self.mixture, self.n_rollouts, self.select = mixture, n_rollouts, select
        self.patience, self.tol, self.n_jobs, self.random_state = patience, tol, n_jobs, random_state
        self.policy: LinearPolicy | None = None
        self.history: list[dict[str, float]] = []

    def learn(self, callback: Callback | None = None, progress_bar: bool = False) -> RCPI:
        """Learn from the data set of the environment, from the beginning.

        Parameters
        ----------
        callback : callable, optional
            Called after each iteration with a dict of plain numbers: iteration, loss, accuracy, n_acquisitions
            (of the new policy on the training data, or on the held-out part with ``patience``), best_loss,
            seconds. Returning False stops.
        progress_bar : bool, default False

        Returns
        -------
        self
        """
        if not hasattr(self, "dataset"):
            raise ValueError("this agent was loaded without an environment; use RCPI.load(path, env) to learn anew")
        rng = generator_of(self.random_state)
        rules, alpha = self.rules, self.alpha
        train, judge = self.dataset, self.dataset
        if self.patience is not None:
            train, judge = self.dataset.split(0.8, int(rng.integers(2**31)))
        scaling = Scaling.fit(train.X)
        values = scaling.apply(train.X)
        n_states = max(1, round(self.states_per_sample * train.n_samples))
        self.history, self.policy, stale = [], None, 0
        best = np.inf

        with _tasks(self.n_jobs) as run, _progress(self.n_iterations, progress_bar) as tick:
            mixture = Mixture.uniform(rules, self.mixture == "trajectory")
            for t in range(1, self.n_iterations + 1):
                began = time.perf_counter()
                seeds = rng.integers(2**63, size=2)
                states = sample_states(train.X, rules, n_states, int(seeds[0]))
                returns, legal, _ = rollout_returns(
                    states,
                    train,
                    values,
                    mixture,
                    rules,
                    seed=int(seeds[1]),
                    n_rollouts=self.n_rollouts,
                    run=run,
                )
                weights, intercepts = fit_scores(
                    states, values, train.y, returns, legal, rules, ridge=self.ridge, run=run
                )
                mixture = mixture.mixed(padded(weights, 0)[None], padded(intercepts, float(NEVER))[None], alpha)

                if t == 1 and self.select == "best":  # a candidate from the start: answer at once
                    self.policy = _answer_at_once(weights, intercepts, train, scaling, rules)
                    best = evaluate(self.policy, judge, rules).loss
                policy = LinearPolicy(weights, intercepts, scaling, rules)
                result = evaluate(policy, judge, rules)
                stale = 0 if result.loss < best - self.tol else stale + 1
                if self.select == "last" or result.loss < best:
                    self.policy = policy
                best = min(best, result.loss)
                self.history.append(
                    {
                        "iteration": t,
                        "loss": result.loss,
                        "accuracy": result.accuracy,
                        "n_acquisitions": result.n_acquisitions,
                        "best_loss": best,
                        "seconds": time.perf_counter() - began,
                    }
                )
                tick()
                if callback is not None and callback(dict(self.history[-1])) is False:
                    break
                if self.patience is not None and stale >= self.patience:
                    break
        return self

    def predict(
        self,
        observation: NDArray[np.float32],
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = True,
        action_masks: NDArray | None = None,
    ) -> tuple[NDArray[np.int64], None]:
        """Actions for observations, as Stable-Baselines3 has it.

        Parameters
        ----------
        observation : float32 (2 n_features,) or (n, 2 n_features)
        state, episode_start, deterministic
            Taken for compatibility: the policy has no memory and is deterministic.
        action_masks : array (n_actions,) or (n, n_actions), optional
            What is legal. Without it what z tells is used, which does not know of missing values, nor of what was
            spent where prices depend on the order: give it where it matters.

        Returns
        -------
        actions : int64, of shape () or (n,)
        state : None
        """
        policy = self._learnt()
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
        actions = policy.actions(acquired, observations[:, n:], legal)
        return (actions[0] if single else actions), None

    def trajectories(self, X: Any, rules: Rules | None = None) -> Trajectories:
        """Classify the rows of ``X``, asking feature by feature; see ``LinearPolicy.trajectories``."""
        return self._learnt().trajectories(X, rules or self.rules)

    def save(self, path: str | os.PathLike) -> None:
        """Write what was learnt to a model file (safetensors with a JSON header)."""
        model_file.save(path, self._learnt(), {})

    @classmethod
    def load(cls, path: str | os.PathLike, env: Any = None) -> RCPI:
        """An agent from a model file; ``env`` is needed only to learn anew, or to act under other rules.

        Raises OSError or ValueError, in one sentence, where the file cannot be read, is damaged or does not fit.
        """
        policy, _ = model_file.load(path, LinearPolicy)
        agent = cls.__new__(cls)
        if env is not None:
            agent = cls(env)
            if (agent.rules.groups, agent.rules.n_classes) != (policy.rules.groups, policy.rules.n_classes):
                raise ValueError(f"the model in {path} is for other features, groups or classes than the environment's")
        else:
            agent.rules = policy.rules
        agent.policy, agent.history = policy, []
        return agent

    def _learnt(self) -> LinearPolicy:
        if self.policy is None:
            from sklearn.exceptions import NotFittedError

            raise NotFittedError("nothing was learnt yet; call learn() first")
        return self.policy


def _answer_at_once(
    weights: NDArray[np.float32], intercepts: NDArray[np.float32], train: Dataset, scaling: Scaling, rules: Rules
) -> LinearPolicy:
    """The policy that acquires nothing and answers the class of the lowest mean error cost."""
    shares = np.bincount(train.y, minlength=train.n_classes) / train.n_samples
    scores = np.full_like(intercepts, NEVER)
    scores[rules.n_acquisitions :] = -(rules.error_costs @ shares)
    return LinearPolicy(np.zeros_like(weights), scores, scaling, rules)


@contextmanager
def _tasks(n_jobs: int | None) -> Iterator[Callable[[Callable, list], list[Any]]]:
    """What runs tasks, in threads, with linear algebra at one thread each, so that bits do not depend on n_jobs."""
    n_threads = effective_n_jobs(n_jobs)
    with one_blas_thread():
        if n_threads == 1:
            yield lambda task, arguments: [task(*a) for a in arguments]
            return
        with Parallel(n_threads, require="sharedmem") as parallel:
            yield lambda task, arguments: list(parallel(delayed(task)(*a) for a in arguments))


@contextmanager
def _progress(total: int, shown: bool) -> Iterator[Callable[[], None]]:
    """What to call after each iteration: a rich progress bar on the error stream, or nothing."""
    if not shown:
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("RCPI", total=total)
        yield lambda: bar.advance(task)


def _number(value: Any, what: str, low: float, high: float, whole: bool = False) -> None:
    kinds = (int, np.integer) if whole else (int, float, np.integer, np.floating)
    if isinstance(value, bool) or not isinstance(value, kinds) or not low <= value <= high:
        kind = "a whole number" if whole else "a number"
        raise ValueError(f"{what} must be {kind} from {low:g} to {high:g}, got {brief(value)}")
