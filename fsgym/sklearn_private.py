"""What fsgym, agents and baselines use of scikit-learn's private API; no other module imports private names of it.

The class attribute ``_parameter_constraints`` of an estimator lists the valid values of its parameters as ``Interval``,
``StrOptions``, ``HasMethods`` and types; ``checks_parameters`` and ``check_parameters`` compare the parameters with it.
"""

from __future__ import annotations

from typing import Any

from sklearn.base import _fit_context
from sklearn.utils import _param_validation, _safe_indexing
from sklearn.utils.validation import _check_feature_names_in, _check_sample_weight

HasMethods: Any = _param_validation.HasMethods
Interval: Any = _param_validation.Interval
StrOptions: Any = _param_validation.StrOptions
checks_parameters: Any = _fit_context(prefer_skip_nested_validation=True)  # decorates ``fit``
check_sample_weight: Any = _check_sample_weight
feature_names_of: Any = _check_feature_names_in
select_rows: Any = _safe_indexing


def check_parameters(estimator: Any) -> None:
    """Raise ValueError for a parameter of an estimator that its ``_parameter_constraints`` do not allow."""
    estimator._validate_params()
