"""What the classifiers of all agents share: tasks from parameters and data, answers and usage, model files."""

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
    """A classifier around a policy: ``fit`` of a subclass learns ``policy_``, the rest is here.

    Attributes
    ----------
    policy_class : type of Policy, of the class: what ``fit`` learns, ``save`` writes and ``load`` reads
    length_parameter : str, of the class: the parameter that says how long it trains, "" where there is none
    classes_ : array (n_classes,)
    n_features_in_ : int
    feature_names_in_ : array of str, where ``X`` had column names
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
        """Make the options of ``Rules`` parameters of the estimator, those not given by their defaults."""
        for option in OPTIONS:
            setattr(self, option.name, options.get(option.name, option.default))

    def _task(self, X: ArrayLike, y: ArrayLike) -> tuple[Dataset, Rules]:
        """The checked data, and the rules that the parameters make for them."""
        dataset = self._dataset(X, y)
        return dataset, self._rules(dataset)

    def _rules(self, dataset: Dataset, **instead: Any) -> Rules:
        """The rules that the parameters make for the data, some of them replaced."""
        return Rules.for_dataset(dataset, **{o.name: getattr(self, o.name) for o in OPTIONS} | instead)

    def _dataset(self, X: ArrayLike, y: ArrayLike) -> Dataset:
        """The data, checked."""
        with np.errstate(over="ignore", invalid="ignore"):  # the check adds up all values, huge ones too
            X, y = validate_data(self, X, y, dtype=np.float32, ensure_all_finite="allow-nan", order="C")
        check_classification_targets(y)
        classes = np.unique(y)
        if len(classes) < 2:
            raise ValueError(f"y must hold at least two classes, got one class only: {classes.tolist()}")
        names = getattr(self, "feature_names_in_", None)
        return Dataset(X, y, classes=classes, feature_names=None if names is None else list(names))

    def _rows(self, X: ArrayLike) -> NDArray[np.float32]:
        """Rows to classify, checked."""
        check_is_fitted(self, "policy_")
        with np.errstate(over="ignore", invalid="ignore"):
            return validate_data(self, X, reset=False, dtype=np.float32, ensure_all_finite="allow-nan", order="C")

    def trajectories(self, X: ArrayLike) -> Trajectories:
        """What is asked for each row of ``X``, in which order, and what is answered (codes into ``classes_``)."""
        table = self._rows(X)
        return self.policy_.trajectories(table)

    def predict(self, X: ArrayLike) -> NDArray:
        """The class of each row of ``X``, (n_samples,)."""
        answers = self.trajectories(X).answers
        return self.classes_[answers]

    def features_used(self, X: ArrayLike) -> NDArray[np.bool_]:
        """Which features are looked at to classify each row, bool (n_samples, n_features)."""
        return self.trajectories(X).acquired

    def estimate_loss(self, X: ArrayLike, y: ArrayLike, cv: Any = 5) -> LossEstimate:
        """What this classifier, fitted to these data, loses on other data of the same kind.

        In each fold a copy with the same parameters is fitted from scratch, all its choices included, and judged on the
        rows left out; so nothing flatters, and it takes as long as the fits. The classifier itself is not changed.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        cv : int, splitter or iterable, default 5
            As in ``sklearn.model_selection.cross_val_score``; whole numbers make stratified folds without shuffling.

        Raises
        ------
        ValueError
            Where a class has no rows to learn from in a fold.

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
        return estimate_loss(self, X, y, cv)

    def save(self, path: str | os.PathLike) -> None:
        """Write policy, rules, labels and names to a model file (safetensors with a JSON header).

        Raises OSError where the place cannot be written to, TypeError for labels other than numbers and text.
        """
        check_is_fitted(self, "policy_")
        model_file.save(path, self.policy_, self._labels())

    @classmethod
    def load(cls, path: str | os.PathLike) -> Self:
        """A fitted classifier from a model file; nothing in the file is executed, and nothing to learn with is needed.

        Its rules are its parameters again; how it was trained, the other parameters, is not in the file.

        Raises OSError where it cannot be read, ValueError where it is damaged or holds another kind of model.
        """
        policy, header = model_file.load(path, cls.policy_class)
        if "classes" not in header:
            raise ValueError(f"{path} holds a policy without labels; open it with the agent's own load, as RCPI.load")
        model = cls(**policy.rules.options())
        try:
            model._restore(policy, header)
        except model_file.DAMAGES as error:
            raise model_file.damaged(path, error) from None
        return model

    def _labels(self) -> dict[str, Any]:
        """Class labels and feature names as a model file has them."""
        names = getattr(self, "feature_names_in_", None)
        return {
            "classes": model_file.labels_to_json(self.classes_),
            "classes_dtype": self.classes_.dtype.str,
            "feature_names": None if names is None else [str(v) for v in names],
        }

    def _restore(self, policy: Any, header: dict[str, Any]) -> None:
        """Be fitted, with the policy and the labels of a model file; one of ``DAMAGES`` where the labels do not fit."""
        rules: Rules = policy.rules
        classes = model_file.labels_from_json(header["classes"], header["classes_dtype"])
        names = header["feature_names"]
        if len(classes) != rules.n_classes:
            raise ValueError(f"{len(classes)} class labels for {rules.n_classes} classes")
        if names is not None and not (isinstance(names, list) and all(isinstance(v, str) for v in names)):
            raise ValueError("feature names must be a list of text")
        if names is not None and len(names) != rules.n_features:
            raise ValueError(f"{len(names)} feature names for {rules.n_features} features")
        self.classes_, self.rules_, self.policy_ = classes, rules, policy
        self.n_features_in_ = rules.n_features
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
