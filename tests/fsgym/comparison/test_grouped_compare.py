"""Comparisons, loaded files and commands with row groups: what a patient's other visits reveal does not count."""

import numpy as np
import pandas as pd
import pytest

from agents import LatticeClassifier
from baselines import CARTClassifier
from fsgym import Dataset, compare, compare_datasets, evaluate, load_dataset
from fsgym.cli import main
from fsgym.comparison.protocol import make_protocol, seed_of
from support.refusals import refused

OPTIONS = dict.fromkeys(["groups", "costs", "error_costs"])


@pytest.fixture(scope="module")
def visits():
    """A table of 60 patients with 5 visits each: ``code`` identifies the patient and says nothing of the diagnosis."""
    rng = np.random.default_rng(0)
    patient = np.repeat(np.arange(60), 5)
    frame = pd.DataFrame({"pid": [f"p{i}" for i in patient], "code": rng.permutation(60)[patient].astype(float)})
    frame["target"] = np.where(rng.permutation(60)[patient] < 30, "ill", "well")
    return frame.iloc[rng.permutation(len(frame))].reset_index(drop=True)


@pytest.fixture(scope="module")
def file(visits, tmp_path_factory):
    path = tmp_path_factory.mktemp("visits") / "visits.csv"
    visits.to_csv(path, index=False)
    return path


def accuracy(data, **options):
    return compare(data, {"memory": CARTClassifier(ccp_alpha=0.0)}, splits=6, **options, references=False)[
        ["accuracy", "validation_accuracy"]
    ].mean()


def test_memory_is_perfect_without_groups_and_at_chance_with_them(visits, file):
    data = Dataset(visits[["code"]], visits["target"], name="visits")
    assert (accuracy(data) > 0.9).all()
    grouped = accuracy(data, row_groups=visits["pid"])
    assert ((grouped > 0.35) & (grouped < 0.65)).all()
    pd.testing.assert_series_equal(accuracy(data.replace(row_groups=visits["pid"])), grouped)
    pd.testing.assert_series_equal(accuracy(file, row_groups="pid"), grouped)


def test_every_split_keeps_patients_in_one_part(visits):
    data = Dataset(np.arange(300.0)[:, None], visits["target"], row_groups=visits["pid"])
    protocol = make_protocol(data, splits=4, train_share=0.5, seed=0, lam=None, options=OPTIONS)
    for k in range(4):
        parts = protocol.parts(k)
        patients = [set(visits["pid"][p.X[:, 0].astype(int)]) for p in (parts.fit, parts.validation, parts.test)]
        assert sum(map(len, patients)) == len(set().union(*patients)) == 60


def test_agents_keep_groups_together_inside_their_training(visits):
    data = Dataset(visits[["code"]], visits["target"], feature_names=["code"], name="visits")
    method = {"m": LatticeClassifier(unknown=0, lam=0.1)}
    by_row = compare(data, method, splits=1, train_share=0.7, references=False)
    grouped = compare(data, method, splits=1, train_share=0.7, row_groups=visits["pid"], references=False)
    # The patients of the test part are new. Only folds that keep the known ones together show that memory is useless.
    assert by_row["n_features"].item() > 0.9
    assert grouped["n_features"].item() < 0.3
    protocol = make_protocol(
        data.replace(row_groups=visits["pid"]), splits=1, train_share=0.7, seed=0, lam=None, options=OPTIONS
    )
    parts, seed = protocol.parts(0), seed_of(0, 0, "m")
    train = Dataset(parts.train.X, data.classes[parts.train.y], row_groups=parts.train.row_groups)
    model = LatticeClassifier(unknown=0, lam=0.1, random_state=seed).fit(train)
    assert evaluate(model, parts.test, rules=protocol.rules).n_features == grouped["n_features"].item()


@pytest.mark.parametrize(
    "method", [LatticeClassifier(unknown=0, lam=0.01), [LatticeClassifier(unknown=0, lam=v) for v in (0.01, 0.1)]]
)
def test_without_row_groups_agents_are_fitted_on_arrays(method, monkeypatch):
    seen = []
    fit_all = LatticeClassifier._fit_all

    def spy(self, X, y, *arguments, **options):
        seen.append((type(X), type(y)))
        return fit_all(self, X, y, *arguments, **options)

    monkeypatch.setattr(LatticeClassifier, "_fit_all", spy)
    X = np.random.default_rng(0).normal(size=(60, 2))
    data = Dataset(X, (X[:, 0] > 0).astype(int))
    compare(data, {"m": method}, splits=1, references=False)
    assert set(seen) == {(np.ndarray, np.ndarray)}
    seen.clear()
    compare(data, {"m": method}, splits=1, row_groups=np.arange(60) // 2, references=False)
    assert set(seen) == {(Dataset, type(None))}


@pytest.mark.usefixtures("no_pictures")
@pytest.mark.slow
def test_the_report_names_the_groups(visits, file, tmp_path):
    compare(file, ["cart"], splits=1, row_groups="pid", out=tmp_path / "with", references=False)
    compare(load_dataset(file, drop=["pid"]), ["cart"], splits=1, out=tmp_path / "without", references=False)
    with_groups, without = ((tmp_path / name / "report.html").read_text() for name in ("with", "without"))
    assert "each of the 60 groups is in one part only" in with_groups
    assert "row group" not in without


@pytest.mark.slow
def test_the_column_of_the_labels_has_a_name(visits, file, tmp_path):
    frame, arguments = visits.rename(columns={"target": "state"}), {"splits": 1, "references": False}
    path = tmp_path / "visits.csv"
    frame.drop(columns="pid").to_csv(path, index=False)
    expected = compare(load_dataset(path, target="state"), ["cart"], **arguments)
    for table in (path, str(path)):
        found = compare(table, ["cart"], target="state", **arguments)
        pd.testing.assert_frame_equal(found, expected)
    (found,) = compare_datasets([path], ["cart"], target="state", **arguments).results.values()
    pd.testing.assert_frame_equal(found, expected)
    grouped = compare(frame, ["cart"], target="state", row_groups="pid", **arguments)
    assert grouped["loss"].equals(compare(file, ["cart"], row_groups="pid", **arguments)["loss"])
    refused(ValueError, r"no column 'target'; name one as target: 'code'", path, call=compare)
    data = load_dataset(path, target="state")
    refused(TypeError, "target must be left out if dataset is a Dataset", data, target="state", call=compare)


def test_bad_row_groups_are_one_sentence(visits, file):
    data = Dataset(visits[["code"]], visits["target"], name="visits")
    refused(TypeError, "name 'pid'; a name is that of a column", data, row_groups="pid", call=compare)
    refused(ValueError, "300 labels, one per row of X, got 2", data, row_groups=[0, 1], call=compare)
    refused(ValueError, "no column 'patient' for row_groups", file, row_groups="patient", call=compare)
    refused(ValueError, "'visits' are in one group", data, row_groups=[0] * 300, call=compare)
    # Two patients of each class: the validation part would have none, and this is said before any fit.
    few = [0, 0, 1, 1, 2, 2, 3, 3]
    tiny = Dataset(np.arange(8.0)[:, None], [0] * 4 + [1] * 4, row_groups=few)
    refused(ValueError, "held out for validation", tiny, ["cart"], call=compare)


# Files


def test_the_column_of_the_groups_is_no_feature(visits, file):
    data = load_dataset(file, row_groups="pid")
    assert data.feature_names == ("code",)
    assert data.row_groups.tolist() == pd.factorize(visits["pid"])[0].tolist()
    assert load_dataset(file, row_groups="pid", drop=["pid"]).feature_names == ("code",)
    train, test = (load_dataset(file, part, row_groups="pid") for part in ("train", "test"))
    assert not set(train.X[:, 0]) & set(test.X[:, 0])
    assert len(train.y) + len(test.y) == 300


@pytest.mark.parametrize(
    ("change", "options", "match"),
    [
        ({}, {"row_groups": "patient"}, "no column 'patient' for row_groups; its columns are pid, code, target"),
        ({}, {"row_groups": "target"}, "must not name the target column 'target'"),
        ({"pid": [None, *["b"] * 299]}, {"row_groups": "pid"}, r"1 row\(s\) .* no value in 'pid'"),
        ({"pid": ["b ", *["b"] * 299]}, {"row_groups": "pid"}, "'b ' and 'b', which differ only in spaces"),
    ],
)
def test_bad_columns_are_one_sentence(visits, tmp_path, change, options, match):
    visits.assign(**change).to_csv(tmp_path / "bad.csv", index=False)
    refused(ValueError, match, tmp_path / "bad.csv", **options)


def test_sources_without_columns_are_one_sentence(visits, tmp_path):
    np.savez(tmp_path / "a.npz", X=np.eye(4), y=[0, 1, 0, 1])
    refused(ValueError, "only for tables with column names", tmp_path / "a.npz", row_groups="pid")
    refused(ValueError, "only for tables with column names", "a", data_dir=tmp_path, row_groups="pid")
    refused(ValueError, "row_groups is only for .* and 'wine', an embedded set", "wine", row_groups="pid")
    refused(TypeError, "name of a column", "wine", row_groups=[1, 2])


def test_official_parts_with_a_common_group_are_refused(visits, tmp_path):
    visits[:150].to_csv(tmp_path / "v.train.csv", index=False)
    visits[150:].to_csv(tmp_path / "v.test.csv", index=False)
    assert load_dataset("v", "train", data_dir=tmp_path, drop=["pid"]).n_samples == 150
    refused(ValueError, "groups of 'pid' in common", "v", "train", data_dir=tmp_path, row_groups="pid")
    assert load_dataset("v", data_dir=tmp_path, row_groups="pid").row_groups.max() == 59
    order = visits.sort_values("pid", kind="stable")
    order[:150].to_csv(tmp_path / "v.train.csv", index=False)
    order[150:].to_csv(tmp_path / "v.test.csv", index=False)
    assert load_dataset("v", "test", data_dir=tmp_path, row_groups="pid").n_samples == 150


# Commands


def call(capsys, *arguments):
    with pytest.raises(SystemExit) as done:
        main([str(a) for a in arguments])
    text = capsys.readouterr()
    return done.value.code, text.out, text.err


def test_the_commands_split_by_group(file, capsys, tmp_path):
    out = tmp_path / "out"
    code, _, error = call(
        capsys,
        "compare",
        file,
        "--methods",
        "cart",
        "--splits",
        2,
        "--row-groups",
        "pid",
        "--out",
        out,
        "--jobs",
        1,
        "--no-references",
    )
    assert (code, error) == (0, "")
    assert pd.read_csv(out / "results.csv").equals(
        compare(file, ["cart"], splits=2, row_groups="pid", references=False).pipe(reread, tmp_path)
    )

    model = tmp_path / "model"
    code, output, error = call(
        capsys, "train", file, "-o", model, "--agent", "rcpi", "--steps", 1, "--row-groups", "pid"
    )
    assert (code, error) == (0, "")
    command = output.split("fsgym evaluate ")[1].splitlines()[0].split()
    assert command == [str(model), str(file)]  # the model file says the rest
    code, output, error = call(capsys, "evaluate", *command)
    assert (code, error) == (0, "")
    test = load_dataset(file, "test", row_groups="pid")
    assert f"{test.n_samples} of 300 rows of visits (test part, row groups kept together)" in output
    from agents import load_classifier

    classifier = load_classifier(model)
    assert f"{evaluate(classifier, test).accuracy:.4f}" in output
    code, _, error = call(capsys, "evaluate", model, file, "--row-groups", "patient")
    assert (code, error.count("\n")) == (2, 1)
    assert "'patient'" in error


def reread(results, folder):
    """The table as it is after it was written to a CSV file and read."""
    results.to_csv(folder / "again.csv", index=False)
    return pd.read_csv(folder / "again.csv")
