"""What fsgym, agents and baselines use of scikit-learn's private API; no other module imports private names of it.

The class attribute ``_parameter_constraints`` of an estimator lists the valid values of its parameters as ``Interval``,
``StrOptions``, ``HasMethods`` and types; ``checks_parameters`` and ``check_parameters`` compare the parameters with it.
"""

from __future__ import annotations

import functools
import inspect
from typing import Any

from sklearn.base import _fit_context
from sklearn.utils import _param_validation, _safe_indexing
from sklearn.utils.validation import _check_feature_names_in, _check_sample_weight

HasMethods: Any = _param_validation.HasMethods
Interval: Any = _param_validation.Interval
StrOptions: Any = _param_validation.StrOptions
check_sample_weight: Any = _check_sample_weight
feature_names_of: Any = _check_feature_names_in
select_rows: Any = _safe_indexing


def checks_parameters(fit: Any) -> Any:
    """Decorate ``fit`` of an estimator: it checks the parameters first, and says how to pass a Dataset without y."""
    checked = _fit_context(prefer_skip_nested_validation=True)(fit)
    if inspect.signature(fit).parameters["y"].default is not inspect.Parameter.empty:
        return checked

    @functools.wraps(checked)
    def fit_arrays(estimator: Any, *args: Any, **given: Any) -> Any:
        if len(args) < 2 and "y" not in given:
            _refuse_dataset(estimator, args[0] if args else given.get("X"))
        return checked(estimator, *args, **given)

    return fit_arrays


def _refuse_dataset(estimator: Any, X: Any) -> None:
    """TypeError if ``X`` is a Dataset, which agents take and baselines do not."""
    from fsgym.data.dataset import Dataset

    if isinstance(X, Dataset):
        raise TypeError(
            f"{type(estimator).__name__}.fit takes arrays, got a Dataset alone; for a Dataset named train, pass "
            "train.to_array() and train.classes[train.y]"
        )


def check_parameters(estimator: Any) -> None:
    """Raise ValueError for a parameter of an estimator that its ``_parameter_constraints`` do not allow."""
    estimator._validate_params()
