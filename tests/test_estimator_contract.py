"""scikit-learn's contract, for every estimator of the project."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from agents import DatumWiseClassifier


@parametrize_with_checks([DatumWiseClassifier(random_state=0), DatumWiseClassifier(budget=2, random_state=0)])
def test_contract(estimator, check):
    check(estimator)
