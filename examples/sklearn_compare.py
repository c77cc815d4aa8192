"""Choose the price of a feature by cross-validation, then compare with a tree of your own settings.

python examples/sklearn_compare.py
"""

import pandas as pd
from sklearn.datasets import load_wine
from sklearn.model_selection import GridSearchCV, train_test_split

import fsgym
from agents import DatumWiseClassifier
from baselines import CARTClassifier


def main(splits: int = 3) -> tuple[GridSearchCV, pd.DataFrame]:
    X, y = load_wine(return_X_y=True, as_frame=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)

    # A feature costs 0.02 errors. Which lam in training gives the lowest loss at that price?
    rules = fsgym.Rules(n_features=X.shape[1], n_classes=3, lam=0.02)
    search = GridSearchCV(
        DatumWiseClassifier(random_state=0), {"lam": [0.005, 0.01, 0.02, 0.05]}, scoring=fsgym.loss_scorer(rules), cv=3
    ).fit(X_train, y_train)
    used = search.best_estimator_.features_used(X_test)
    print(f"chosen {search.best_params_}, accuracy {search.best_estimator_.score(X_test, y_test):.3f}")
    print(f"mean features used: {used.sum(axis=1).mean():.1f}, most often: {X.columns[used.mean(axis=0).argmax()]}")

    # The protocol of `fsgym compare`, with one method by name and one of our own.
    trees = [CARTClassifier(max_depth=depth, random_state=0) for depth in (1, 2, 3, 5)]
    results = fsgym.compare("wine", {"rcpi": "rcpi", "trees": trees}, splits=splits)
    within = fsgym.summarise(results, within=[1, 3, 5]).within
    print(within[["method", "k", "accuracy", "n_features"]].to_string(index=False))
    return search, within


if __name__ == "__main__":
    main()
