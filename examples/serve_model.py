"""A model behind functions of your own: values are fetched only when the model asks for them.

python examples/serve_model.py
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from agents import LatticeClassifier


def triage(model: Any, fetch: Callable[[str], float | None]) -> tuple[Any, list[str]]:
    """One case at a time, as a form or a service would do it: the answer, and the reason of each step.

    ``fetch(name)`` returns a value, or None where there is no result. It is called for nothing that is not needed.
    """
    session, reasons = model.session(), []
    while question := session.next():
        reasons.append(session.why())
        value = fetch(question.name)
        if value is None:
            session.unknown(question.name)
        else:
            session.answer(question.name, value, accept=True)  # also outside the range seen in training
    reasons.append(session.why())
    return session.stop(), reasons


def main() -> tuple[int, int]:
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    diagnosis = y.map({0: "malignant", 1: "benign"})
    X_train, records, y_train, truth = train_test_split(X, diagnosis, stratify=diagnosis, random_state=0)
    model = LatticeClassifier(lam=0.005, random_state=0).fit(X_train, y_train)

    for patient in records.index[:2]:
        answer, reasons = triage(model, lambda name, patient=patient: float(records.loc[patient, name]))
        print(f"patient {patient}", *reasons, sep="\n  ")
        print(f"  answer: {answer}, truth: {truth[patient]}")

    # Many cases: one call for all those that need the same value. rows are the keys that were given.
    calls: list[int] = []

    def fetch_many(name: str, rows: list[int]) -> Any:
        calls.append(len(rows))
        return records.loc[rows, name].to_numpy()

    answers = model.predict_on_demand(fetch_many, list(records.index))
    correct = int((answers == truth).sum())
    print(f"{correct} of {len(records)} correct; {sum(calls)} of {records.size} values fetched, in {len(calls)} calls")
    return correct, sum(calls)


if __name__ == "__main__":
    main()
