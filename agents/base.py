"""The base class of the classifiers of all agents: rules from parameters, predictions, usage, model files."""

from __future__ import annotations

import os
from typing import Any, ClassVar, Self, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from agents import model_file
from agents.loss_estimate import LossEstimate, estimate_loss
from agents.policy import Policy
from fsgym.dataset import Dataset
from fsgym.evaluation import Trajectories
from fsgym.rules import RuleOptions, Rules
from fsgym.rules.options import OPTIONS


class BaseAgentClassifier(ClassifierMixin, BaseEstimator):
    """A classifier around a policy. ``fit`` of a subclass trains ``policy_``; this class does the rest.

    Attributes
    ----------
    policy_class : type of Policy
        Class attribute: the class of ``policy_``.
    length_parameter : str
        Class attribute: the parameter that sets the length of the training, "" if there is none.
    classes_ : array (n_classes,)
    n_features_in_ : int
    feature_names_in_ : array of str, if ``X`` had column names
    rules_ : Rules
    policy_ : Policy
    """

    policy_class: ClassVar[type[Policy]]
    length_parameter: ClassVar[str] = ""

    lam: float
    classes_: NDArray
    rules_: Rules
    policy_: Policy

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _set_rule_options(self, **options: Unpack[RuleOptions]) -> None:
        """Set the options of ``Rules`` as parameters of the estimator, with their defaults where not given."""
        for option in OPTIONS:
            setattr(self, option.name, options.get(option.name, option.default))

    def _task(self, X: ArrayLike, y: ArrayLike) -> tuple[Dataset, Rules]:
        """The checked data, and the rules that the parameters define for them."""
        dataset = self._dataset(X, y)
        return dataset, self._rules(dataset)

    def _rules(self, dataset: Dataset, **changes: Any) -> Rules:
        """The rules that the parameters define for the data, with some options replaced by ``changes``."""
        return Rules.for_dataset(dataset, **{o.name: getattr(self, o.name) for o in OPTIONS} | changes)

    def _dataset(self, X: ArrayLike, y: ArrayLike) -> Dataset:
        """The training data, checked."""
        with np.errstate(over="ignore", invalid="ignore"):  # the check sums all values, which may overflow
            X, y = validate_data(self, X, y, dtype=np.float32, ensure_all_finite="allow-nan", order="C")
        check_classification_targets(y)
        classes = np.unique(y)
        if len(classes) < 2:
            raise ValueError(f"y must have at least two classes, got one class only: {classes.tolist()}")
        names = getattr(self, "feature_names_in_", None)
        return Dataset(X, y, classes=classes, feature_names=None if names is None else list(names))

    def _check_rows(self, X: ArrayLike) -> NDArray[np.float32]:
        """The rows to classify, checked."""
        check_is_fitted(self, "policy_")
        with np.errstate(over="ignore", invalid="ignore"):
            return validate_data(self, X, reset=False, dtype=np.float32, ensure_all_finite="allow-nan", order="C")

    def trajectories(self, X: ArrayLike) -> Trajectories:
        """The acquisitions for each row of ``X`` in their order, and the answers as indices into ``classes_``."""
        rows = self._check_rows(X)
        return self.policy_.trajectories(rows)

    def predict(self, X: ArrayLike) -> NDArray:
        """The predicted class of each row of ``X``, (n_samples,)."""
        answers = self.trajectories(X).answers
        return self.classes_[answers]

    def features_used(self, X: ArrayLike) -> NDArray[np.bool_]:
        """The features acquired to classify each row of ``X``, bool (n_samples, n_features)."""
        return self.trajectories(X).acquired

    def estimate_loss(self, X: ArrayLike, y: ArrayLike, cv: Any = 5, groups: ArrayLike | None = None) -> LossEstimate:
        """Estimate the loss on other data from the same distribution, by cross-validation.

        In each fold a copy with the same parameters is fitted from scratch and evaluated on the rows left out. The
        estimate is not optimistic, since every choice is made inside the folds. It takes as long as these fits. The
        classifier itself is not changed.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        cv : int, splitter or iterable, default 5
            As in ``sklearn.model_selection.cross_val_score``; whole numbers make stratified folds without shuffling
            (``StratifiedKFold``, and with ``groups`` ``StratifiedGroupKFold``).
        groups : array-like of shape (n_samples,), optional
            Rows with the same label, such as the visits of one patient, are never on both sides of a fold; without
            ``groups`` the estimate is optimistic for such data. Passed to a splitter.

        Raises
        ------
        ValueError
            If a class has no training rows in a fold, there are fewer groups than folds, or a splitter puts rows of a
            group on both sides.

        Examples
        --------
        >>> from sklearn.datasets import load_wine
        >>> from agents import LatticeClassifier
        >>> X, y = load_wine(return_X_y=True)
        >>> X = X[:, [0, 6, 9]]
        >>> estimate = LatticeClassifier(lam=0.05, random_state=0).estimate_loss(X, y, cv=3)
        >>> bool(0.1 < estimate.loss < 0.3), bool(estimate.standard_error < 0.03)
        (True, True)
        """
        return estimate_loss(self, X, y, cv, groups)

    def save(self, path: str | os.PathLike) -> None:
        """Save policy, rules, class labels and feature names to a model file (safetensors with a JSON header).

        Raises OSError if the file cannot be written, TypeError for class labels other than numbers and text.
        """
        check_is_fitted(self, "policy_")
        model_file.save(path, self.policy_, self._labels())

    @classmethod
    def load(cls, path: str | os.PathLike) -> Self:
        """Load a fitted classifier from a model file, without executing anything in it or importing training code.

        The rules become the parameters of the classifier. Its other parameters, which controlled the training, are not
        in the file and have their defaults.

        Raises OSError if the file cannot be read, ValueError if it is damaged or contains another kind of model.
        """
        policy, header = model_file.load(path, cls.policy_class)
        if "classes" not in header:
            raise ValueError(f"{path} contains a policy without class labels; load it with the agent, as in RCPI.load")
        model = cls(**policy.rules.options())
        try:
            model._restore(policy, header)
        except model_file.DAMAGE_ERRORS as error:
            raise model_file.damage_error(path, error) from None
        return model

    def _labels(self) -> dict[str, Any]:
        """Class labels and feature names for the header of a model file."""
        names = getattr(self, "feature_names_in_", None)
        return {
            "classes": model_file.labels_to_json(self.classes_),
            "classes_dtype": self.classes_.dtype.str,
            "feature_names": None if names is None else [str(v) for v in names],
        }

    def _restore(self, policy: Any, header: dict[str, Any]) -> None:
        """Set the fitted attributes from a model file; one of ``DAMAGE_ERRORS`` if the labels do not fit."""
        rules: Rules = policy.rules
        classes = model_file.labels_from_json(header["classes"], header["classes_dtype"])
        names = header["feature_names"]
        if len(classes) != rules.n_classes:
            raise ValueError(f"{len(classes)} class labels for {rules.n_classes} classes")
        if names is not None and not (isinstance(names, list) and all(isinstance(v, str) for v in names)):
            raise ValueError("feature names must be a list of strings")
        if names is not None and len(names) != rules.n_features:
            raise ValueError(f"{len(names)} feature names for {rules.n_features} features")
        self.classes_, self.rules_, self.policy_ = classes, rules, policy
        self.n_features_in_ = rules.n_features
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
