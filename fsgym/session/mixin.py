"""What every model that asks one question at a time offers: a step, a session, predictions on demand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fsgym.data.targets import Bins
from fsgym.rules import State
from fsgym.session.acquisitions import Acquisitions
from fsgym.session.step import Advice, Step
from fsgym.session.walk import ActingWalk, Walk, WalkOrder
from fsgym.text.messages import option_text

if TYPE_CHECKING:
    from fsgym.session.on_demand import AsyncValueSource, ValueSource
    from fsgym.session.session import Session


class AskingMixin:
    """Questions on one case, and predictions on demand, for a fitted classifier.

    A subclass has ``classes_``, ``acquisitions_``, ``advise`` and ``policy_digest``, see ``AskedModel``.

    Examples
    --------
    >>> from agents import LatticeClassifier
    >>> from baselines import CARTClassifier
    >>> from fsgym.session.mixin import AskingMixin
    >>> issubclass(LatticeClassifier, AskingMixin), issubclass(CARTClassifier, AskingMixin)
    (True, True)
    """

    classes_: NDArray
    bins_: Bins | None = None  # of a numeric target
    evidence_: tuple[str, ...] = ()

    @property
    def answers_(self) -> NDArray:
        """What the model answers for each class, (n_classes,): its label; for a bin of numbers its number, float64."""
        return self.classes_ if self.bins_ is None else self.bins_.values

    @property
    def acquisitions_(self) -> Acquisitions:
        """The rules and the columns by name, in the order of the user."""
        raise NotImplementedError

    def advise(self, acquired: NDArray[np.bool_], values: NDArray[np.float64], legal: NDArray[np.bool_]) -> Advice:
        """What the model says about n states, in the order of the user.

        Parameters
        ----------
        acquired : bool (n, n_features), where values are known
        values : float64 (n, n_features), NaN where they are not
        legal : bool (n, n_actions)
        """
        raise NotImplementedError

    def walk_order(self) -> WalkOrder:
        """The order in which ``walk`` counts features and acquisitions."""
        return WalkOrder.of_user(self.acquisitions_.rules)

    def walk(self, state: State) -> Walk:
        """Begin with nothing acquired in each of n states, started under the rules of ``walk_order``."""
        return ActingWalk(lambda *states: self.advise(*states).actions, self.acquisitions_.rules, state)

    def policy_digest(self) -> str:
        """SHA-256 of all that decides what this model asks and answers: arrays, rules, names, levels and classes.

        64 hexadecimal digits; two models with the same digest behave the same, also from a file.
        """
        raise NotImplementedError

    def _made_once(self, fitted: Any, make: Callable[[], Acquisitions]) -> Acquisitions:
        """The acquisitions, made again only where ``fitted``, which ``fit`` sets, is another object."""
        found = self.__dict__.get("_acquisitions_found")
        if found is None or found[0] is not fitted:
            found = self.__dict__["_acquisitions_found"] = (fitted, make())
        return found[1]

    def __getstate__(self) -> dict[str, Any]:
        state: Any = super().__getstate__()  # type: ignore[misc]
        return {name: value for name, value in state.items() if name != "_acquisitions_found"}

    def step(
        self,
        known: Mapping[str, Any],
        *,
        unknown: Iterable[str] = (),
        unavailable: Iterable[str] = (),
        spent: float | None = None,
        n_paid: int | None = None,
        accept: bool = False,
        missing: Iterable[str] | None = None,
        prices: Mapping[str, float] | None = None,
    ) -> Step:
        """What to ask next about one case, or the answer, given what is known.

        Nothing is stored: the same arguments give the same step.

        Parameters
        ----------
        known : mapping name -> value
            Columns with their values, in the user's units and levels; an acquisition of several columns may be given
            as a mapping of its columns.
        unknown : names
            Acquisitions or columns that were asked for without a result. They are not asked again.
        unavailable : names
            Acquisitions or columns that cannot be obtained for this case.
        spent : float, optional
            What was paid for the known values, in the unit of ``costs``; it counts for ``budget_cost``. By default
            nothing was paid: all values were known in advance.
        n_paid : int, optional
            How many acquisitions count for ``budget``. By default none, or all known ones where ``spent`` is given.
        accept : bool, default False
            Whether to accept numbers outside the range in training, and levels that were not in training, which count
            as unknown.
        missing : names, optional
            The columns of which this case has no value, all of them, as the empty cells of its row in a table: they
            cannot be obtained, and for the columns in ``evidence_`` it is evidence whether they are among these. By
            default nothing is said.
        prices : mapping name -> price, optional
            Prices of this case, as for ``at_prices``, for a model that was trained with prices by case. By default, and
            for what is not named, the mean price in training.

        Returns
        -------
        Step

        Raises
        ------
        ValueError, TypeError
            If a name is unknown, or a value is not one of its column.

        Examples
        --------
        >>> from sklearn.datasets import load_wine
        >>> from agents import LatticeClassifier
        >>> X, y = load_wine(return_X_y=True, as_frame=True)
        >>> model = LatticeClassifier(lam=0.05, random_state=0).fit(X[["alcohol", "hue", "flavanoids"]], y)
        >>> step = model.step({"flavanoids": 3.0})
        >>> step.question.name, step.should_stop, len(step.alternatives)
        ('alcohol', False, 2)
        """
        from fsgym.session.case import step_of

        return step_of(
            self if prices is None else self.at_prices(prices),
            known,
            unknown=unknown,
            unavailable=unavailable,
            spent=spent,
            n_paid=n_paid,
            accept=accept,
            missing=missing,
        )

    def session(
        self,
        known: Mapping[str, Any] | None = None,
        unavailable: Iterable[str] = (),
        *,
        charge_unknown: bool = False,
        accept: bool = False,
        missing: Iterable[str] | None = None,
        prices: Mapping[str, float] | None = None,
    ) -> Session:
        """A session on one case: questions one by one, answers in any order, undo, a log.

        Parameters
        ----------
        known : mapping name -> value, optional
            Values known in advance, as for ``step``.
        unavailable : names
            Acquisitions or columns that cannot be obtained for this case.
        charge_unknown : bool, default False
            Whether an acquisition without a result is paid for and counts for budgets.
        accept : bool, default False
            As for ``step``, for the values known in advance.
        missing : names, optional
            As for ``step``: all columns of which this case has no value.
        prices : mapping name -> price, optional
            As for ``step``: prices of this case.
        """
        from fsgym.session.session import Session

        return Session(
            self if prices is None else self.at_prices(prices),
            dict(known or {}),
            unavailable,
            charge_unknown=charge_unknown,
            accept=accept,
            missing=missing,
            prices=prices,
        )

    def at_prices(self, prices: Mapping[str, float] | None = None) -> Any:
        """This model for a case with prices of its own; ValueError for a model that does not plan with them."""
        raise ValueError(
            f"{type(self).__name__} plans with one price for each acquisition, not with those of a case; train an "
            "AdaptiveClassifier or a MixtureClassifier with "
            f"{option_text('case_costs of a Dataset', command='--case-price')}"
        )

    def predict_on_demand(self, get: ValueSource, rows: Any, *, available: Any = None, missing: Any = None) -> NDArray:
        """The prediction for each row, as of ``predict``, with only those values fetched that the policy asks for.

        On complete rows this is ``predict``, and what is fetched is ``features_used``, unless the model has columns in
        ``evidence_``: ``predict`` knows which values of a row are missing, and so does this with ``missing``.

        Parameters
        ----------
        get : callable (name, rows) -> values
            Called once in each round for all rows that ask for the same acquisition. It returns a sequence with the
            value of each of these rows; for an acquisition of several columns a mapping or DataFrame of them. A missing
            value (NaN, None) is unknown: it costs nothing, and is not asked for again.
        rows : sequence, or int
            Whatever identifies the rows to ``get``, such as keys of a data base; a number n means 0 to n - 1.
        available : bool (n_rows, n_columns), or DataFrame by column name, optional
            False where a value cannot be obtained, which ``predict`` sees as NaN; for evidence give ``missing``.
        missing : bool (n_rows, n_columns), or DataFrame by column name, optional
            True where a row has no value: it cannot be obtained, and counts as evidence for the columns in
            ``evidence_``.

        Returns
        -------
        array (n_rows,) of labels, or of numbers

        Examples
        --------
        >>> from sklearn.datasets import load_wine
        >>> from agents import LatticeClassifier
        >>> X, y = load_wine(return_X_y=True, as_frame=True)
        >>> model = LatticeClassifier(lam=0.05, random_state=0).fit(X[["alcohol", "hue", "flavanoids"]], y)
        >>> fetched = []
        >>> def get(name, rows):
        ...     fetched.extend(rows)
        ...     return X[name].loc[rows].to_numpy()
        >>> labels = model.predict_on_demand(get, X.index)
        >>> bool((labels == model.predict(X)).all()), bool(len(fetched) == model.features_used(X).sum())
        (True, True)
        """
        from fsgym.session.on_demand import RowBatch, run_source

        batch = RowBatch(self, rows, available, missing)
        run_source(batch, get)
        return self.acquisitions_.rules.answer_labels(self.answers_)[batch.answers]

    async def predict_on_demand_async(
        self, get: AsyncValueSource, rows: Any, *, available: Any = None, missing: Any = None
    ) -> NDArray:
        """As ``predict_on_demand``, where ``get`` is a coroutine function; the calls of a round run concurrently."""
        from fsgym.session.on_demand import RowBatch, run_async_source

        batch = RowBatch(self, rows, available, missing)
        await run_async_source(batch, get)
        return self.acquisitions_.rules.answer_labels(self.answers_)[batch.answers]

    def resume(self, text: str) -> Session:
        """The session that ``Session.to_json`` wrote, as if it had never stopped.

        Raises ValueError where the text is damaged, or was written with another model.
        """
        from fsgym.session.session import Session

        return Session.from_json(self, text)
