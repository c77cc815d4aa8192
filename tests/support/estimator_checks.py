"""Which of scikit-learn's estimator checks the agents cannot pass, and why."""

from __future__ import annotations

from typing import Any

from agents import BaseAgentClassifier

REASON = (
    "folds, boosting rounds, training states and episodes are sampled from the rows, so that a repeated row is not the "
    "same as a row with a larger weight"
)


def expected_failed_checks(estimator: Any) -> dict[str, str]:
    """Names of checks with the reason why they fail, for ``parametrize_with_checks``."""
    if isinstance(estimator, BaseAgentClassifier):
        return {"check_sample_weight_equivalence_on_dense_data": REASON}
    return {}
