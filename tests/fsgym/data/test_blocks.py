"""Tables that are read in blocks have the rows of the table in memory, and give the same models and figures."""

import json

import numpy as np
import pandas as pd
import pytest

from agents import AdaptiveClassifier, LatticeClassifier
from agents.lattice import constants as const
from agents.lattice.subset_classifier import CrossFit, fit_classifier
from agents.lattice.training_data import AllRows, prepare_data
from agents.whole_table import WholeTable
from fsgym import Dataset, cli, compare, evaluate, load_dataset, open_blocks
from fsgym.data import blocks as blocks_module
from fsgym.data.reading import files, parts


@pytest.fixture
def table():
    """Numbers with a distant minimum, texts with a rare level, a category, and missing values."""
    rng, n = np.random.default_rng(0), 1500
    frame = pd.DataFrame({"a": rng.normal(size=n), "ward": rng.choice(["er", "gp", "icu"], n)})
    frame["c"] = pd.Categorical(rng.choice(["u", "v"], n))
    frame["m"] = np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n))
    frame.loc[1234, ["a", "ward"]] = -50.0, "rare"
    frame["target"] = np.where(frame.a + (frame.ward == "er") + rng.normal(size=n) / 3 > 0.3, "sick", "well")
    frame.loc[1111, "target"] = "odd"
    return frame


@pytest.fixture
def parquet(table, tmp_path):
    table.to_parquet(tmp_path / "table.parquet", row_group_size=400)
    return tmp_path / "table.parquet"


def saved(tmp_path, form):
    """A table of numbers in a file, as a Dataset and as Blocks."""
    rng = np.random.default_rng(1)
    X, y = np.round(rng.normal([0, 0, 1e9], 1.0, (900, 3)), 3), rng.integers(0, 3, 900)
    X[::7, 1] = np.nan
    X = np.asfortranarray(X) if form == "columns" else X
    if form == "npy":
        np.save(tmp_path / "X.npy", X)
        np.save(tmp_path / "y.npy", y)
        return Dataset(X, y), open_blocks(tmp_path / "X.npy", labels=tmp_path / "y.npy")
    np.savez(tmp_path / "table.npz", X=X, y=y, feature_names=["u", "v", "w"])
    return load_dataset(tmp_path / "table.npz"), open_blocks(tmp_path / "table.npz")


def joined(blocks):
    return np.concatenate([block.X for block in blocks]), np.concatenate([block.target for block in blocks])


@pytest.mark.parametrize("form", ["npz", "columns", "npy"])
def test_blocks_of_arrays_are_the_rows_of_the_table(form, tmp_path, monkeypatch):
    monkeypatch.setattr(parts, "ROWS_OF_PART", 250)
    whole, blocks = saved(tmp_path, form)
    assert [block.n_samples for block in blocks] == [250, 250, 250, 150]
    assert blocks.columns == whole.columns
    assert blocks.columns.offsets[2] != 0
    for found, expected in zip(joined(blocks), (whole.X, whole.target), strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("n_sketch", [10_000, 100])
def test_the_sketch_knows_what_the_table_has(n_sketch, parquet, monkeypatch):
    monkeypatch.setattr(blocks_module, "ROWS_OF_SKETCH", n_sketch)
    monkeypatch.setattr(blocks_module, "MIN_ROWS_OF_CLASS", 1)
    whole, blocks = load_dataset(parquet), open_blocks(parquet)
    sketch = blocks.sketch
    assert sketch.n_samples == 1500 if n_sketch > 1500 else 100 <= sketch.n_samples < 150
    assert (sketch.columns, sketch.classes.tolist()) == (whole.columns, ["odd", "sick", "well"])
    np.testing.assert_array_equal(np.stack(sketch.bounds), np.stack(whole.bounds))
    for found, expected in zip(joined(blocks), (whole.X, whole.target), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_selected_rows_are_those_of_the_table(parquet, monkeypatch):
    monkeypatch.setattr(blocks_module, "ROWS_OF_SKETCH", 200)
    whole, blocks = load_dataset(parquet), open_blocks(parquet)
    whole, blocks = whole.rows(np.flatnonzero(whole.y > 0)), blocks.rows(blocks.y > 0)
    index = whole.split_index(0.7, 3)[1]
    np.testing.assert_array_equal(blocks.split_index(0.7, 3)[1], index)
    part, index = blocks.rows(index), np.sort(index)
    np.testing.assert_array_equal(part.origin.rows, whole.rows(index).origin.rows)
    assert part.origin.table == whole.origin.table
    for found, expected in zip(joined(part), (whole.X[index], whole.target[index]), strict=True):
        np.testing.assert_array_equal(found, expected)
    assert 0 < part.sketch.n_samples < 200
    rows = {row.tobytes() for row in whole.X[index]}
    assert all(row.tobytes() in rows for row in part.sketch.X)


def test_a_table_that_the_sketch_holds_gives_the_model_of_the_table_in_memory(table, tmp_path):
    parquet = tmp_path / "table.parquet"
    table.loc[:399, ["ward", "m", "target"]].to_parquet(parquet, row_group_size=150)
    model = AdaptiveClassifier(lam=0.05, learner="lattice", random_state=0)
    digests = [model.fit(data).policy_digest() for data in (open_blocks(parquet), load_dataset(parquet))]
    assert digests[0] == digests[1]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_final_classifiers_of_blocks_are_those_of_the_rows_in_memory(n_classes):
    rng = np.random.default_rng(0)
    X, weight = rng.normal(size=(1100, 4)).astype(np.float32), rng.uniform(0.5, 1.5, 1100)
    X[::9, 1] = np.nan
    y = np.digitize(np.nan_to_num(X[:, 1]) + X[:, 2], [0.0, 1.0][: n_classes - 1])
    data = prepare_data(Dataset(X, y), np.random.default_rng(0), weight)
    blend = CrossFit(np.empty(0, np.float32), np.array([0.25, 0.25, 0.5]), 1.0)
    expected = fit_classifier(data, np.arange(1, 4), blend, const.SHARE_OF_FINAL_TREES[np.inf])
    all_rows = AllRows(WholeTable([X[:300], X[300:301], X[301:]], data.y, weight), data)
    all_rows.read([3, 1])
    all_rows.read([2, 1])
    found = fit_classifier(all_rows, np.arange(1, 4), blend, const.SHARE_OF_FINAL_TREES[np.inf])
    for name in ("coefficients", "start_score"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    for name in ("boosted", "forest"):
        for a, b in zip(getattr(found, name), getattr(expected, name), strict=True):
            np.testing.assert_array_equal(a, b)


def test_blocks_that_have_other_rows_than_were_counted_are_an_error():
    X, y = np.random.default_rng(0).normal(size=(1100, 2)).astype(np.float32), np.arange(1100) % 2
    data = prepare_data(Dataset(X, y), np.random.default_rng(0))
    with pytest.raises(ValueError, match="the blocks must have the 1100 rows that were counted, got 1099"):
        AllRows(WholeTable([X[1:]], data.y, None), data).read([0])


@pytest.fixture
def few_in_memory(monkeypatch):
    monkeypatch.setattr(blocks_module, "ROWS_OF_SKETCH", 700)
    monkeypatch.setattr(const, "MAX_SAMPLE_ROWS", 300)
    monkeypatch.setattr(const, "MIN_SAMPLE_ROWS", 300)


@pytest.mark.slow
def test_a_larger_table_is_learnt_evaluated_and_classified_in_blocks(parquet, few_in_memory):
    whole, blocks = load_dataset(parquet), open_blocks(parquet)
    options = {"lam": 0.05, "learner": "lattice", "class_weight": "balanced", "random_state": 0}
    model = AdaptiveClassifier(**options).fit(blocks)
    of_sketch = AdaptiveClassifier(**options).fit(blocks.sketch)
    assert model.policy_digest() != of_sketch.policy_digest()  # its final classifiers have seen all rows
    assert model.report_.trials[0].loss == of_sketch.report_.trials[0].loss  # the sketch decides
    assert "Trained on 1,500 rows" in model._repr_html_()
    result, expected = evaluate(model, blocks), evaluate(model, whole)
    assert result.figures() == expected.figures()
    np.testing.assert_array_equal(result.confusion, expected.confusion)
    assert result.accuracy > 0.8
    np.testing.assert_array_equal(model.predict(blocks), model.predict(whole.to_frame()))
    with pytest.raises(ValueError, match="calibrate needs rows that did not train the model"):
        model.calibrate(whole.rows(np.flatnonzero(~whole.incomplete)), target_error=0.3)


def test_missing_values_as_evidence_are_indicated_in_each_block(few_in_memory, tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 1500)
    X = np.column_stack([rng.normal(size=1500), rng.normal(size=1500) + y])
    X[rng.random(1500) < 0.1 + 0.5 * y, 0] = np.nan
    np.savez(tmp_path / "table.npz", X=X, y=y)
    blocks = open_blocks(tmp_path / "table.npz")
    model = AdaptiveClassifier(lam=0.05, learner="lattice", random_state=0).fit(blocks)
    assert model.evidence_ == ("x0",)
    assert evaluate(model, blocks).loss == evaluate(model, Dataset(X, y)).loss < 0.3


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda d: np.savez_compressed(d / "t.npz", X=np.eye(4), y=[0, 1, 0, 1]), "the array X compressed, so that"),
        (lambda d: np.savez(d / "t.npz", X=np.eye(4)), "has no labels; only predict does without: pass y in it"),
        (lambda d: np.savez(d / "t.npz", y=np.eye(4)), "must hold X and y to be read in blocks, got y"),
        (lambda d: np.savez(d / "t.npz", X=np.eye(4), y=[0, 1]), "one label for each of the 4 rows, got"),
        (lambda d: np.savez(d / "t.npz", X=np.eye(4), y=[1] * 4), "at least two classes, got"),
        (lambda d: np.savez(d / "t.npz", X=np.eye(2), y=[1.0, np.nan]), "must not hold NaN or infinity; drop"),
        (lambda d: np.savez(d / "t.npz", X=np.full((2, 2), None), y=[1, 0]), "must be a plain array"),
        (lambda d: (d / "t.npz").write_bytes(b"PK\x03\x04 and no more"), "damaged or has no arrays"),
        (lambda d: np.save(d / "t.npy", np.eye(2)), "has no labels; only predict does without: pass labels="),
        (lambda d: (d / "t.csv").write_text("a,target\n1,2\n"), "blocks are read of .parquet, .npz and .npy files"),
        (lambda d: pd.DataFrame({"a": [1.0, 2.0]}).to_parquet(d / "t.parquet"), "has no column 'target'"),
        (lambda d: (d / "t.parquet").write_bytes(b"PAR1"), "cannot be read as a Parquet file"),
    ],
)
def test_a_file_that_cannot_be_read_in_blocks_is_refused_in_a_sentence(make, message, tmp_path):
    make(tmp_path)
    with pytest.raises(ValueError, match=message):
        AdaptiveClassifier().fit(open_blocks(next(tmp_path.iterdir())))


def test_predict_takes_blocks_without_labels(table, parquet, tmp_path):
    model = AdaptiveClassifier(lam=0.05, learner="lattice", random_state=0).fit(open_blocks(parquet).rows(range(400)))
    rows = table.drop(columns="target")
    rows.to_parquet(tmp_path / "new.parquet", row_group_size=400)
    new = open_blocks(tmp_path / "new.parquet")
    assert (new.n_samples, new.has_labels, str(new)) == (
        len(table),
        False,
        f"Blocks('new': {len(table)} samples, no labels)",
    )
    expected = model.predict(rows)
    np.testing.assert_array_equal(model.predict(new), expected)
    np.testing.assert_array_equal(model.predict(open_blocks(parquet)), expected)
    for needs_labels in (lambda: evaluate(model, new), lambda: new.y, lambda: new.sketch, lambda: [*new]):
        with pytest.raises(ValueError, match="has no column 'target'; name one as target: 'a'"):
            needs_labels()
    with pytest.raises(ValueError, match="has no column 'sick'"):
        open_blocks(tmp_path / "new.parquet", target="sick")


def test_predict_takes_arrays_in_blocks_without_labels(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    model = AdaptiveClassifier(lam=0.05, learner="lattice", random_state=0).fit(X, X[:, 0] > 0)
    np.save(tmp_path / "X.npy", X)
    np.savez(tmp_path / "X.npz", X=X)
    for name in ("X.npy", "X.npz"):
        np.testing.assert_array_equal(model.predict(open_blocks(tmp_path / name)), model.predict(X))


def test_what_takes_no_blocks_or_path_says_what_it_takes(parquet):
    blocks = open_blocks(parquet)
    model = AdaptiveClassifier(lam=0.05, learner="lattice", random_state=0).fit(blocks.rows(range(300)))
    for call in (lambda: model.calibrate(blocks, target_error=0.3), lambda: model.features_used(blocks)):
        with pytest.raises(TypeError, match=r"X must be rows in memory, got Blocks; pass blocks\.sketch"):
            call()
    for path in (parquet, str(parquet)):
        with pytest.raises(TypeError, match=r"X must be rows, got the path .*; read it first, as with pandas"):
            model.predict(path)
    with pytest.raises(TypeError, match=r"this needs all rows in memory; pass blocks\.sketch"):
        compare(blocks, "cart", splits=1)


def test_what_needs_all_rows_in_memory_refuses_blocks(parquet):
    blocks = open_blocks(parquet)
    with pytest.raises(TypeError, match=r"LatticeClassifier is fitted to rows in memory, got blocks; use Adaptive"):
        LatticeClassifier().fit(blocks)
    with pytest.raises(ValueError, match="sample_weight is for rows in memory"):
        AdaptiveClassifier().fit(blocks, sample_weight=np.ones(1500))
    with pytest.raises(TypeError, match="y must be left out where X is a Blocks"):
        AdaptiveClassifier().fit(blocks, blocks.y)
    with pytest.raises(ValueError, match=r"drop: unknown column of .* 'wart'; did you mean 'ward'"):
        open_blocks(parquet, drop=["wart"])
    with pytest.raises(ValueError, match="labels is only for"):
        open_blocks(parquet, labels="y.npy")


def test_files_keep_their_bounds_in_blocks(parquet, monkeypatch):
    monkeypatch.setattr(parts, "MAX_GROUP_BYTES", 1000)
    with pytest.raises(ValueError, match=r"has a row group of .* write it with to_parquet"):
        open_blocks(parquet)
    monkeypatch.setattr(files, "FREE_BYTES", 1000)
    monkeypatch.setattr(files, "MAX_TIMES", 0.1)
    with pytest.raises(ValueError, match=r"more than the .* that a file of its size may have"):
        open_blocks(parquet)


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as exited:
        cli.main([str(a) for a in arguments])
    printed = capsys.readouterr()
    assert not exited.value.code, printed.err
    return printed.out


@pytest.mark.slow
def test_the_commands_say_the_same_of_a_file_in_blocks(table, tmp_path, monkeypatch, capsys):
    model, file, said = tmp_path / "model.safetensors", tmp_path / "table.parquet", []
    table.loc[:199, ["a", "c", "target"]].to_parquet(file, row_group_size=70)
    monkeypatch.setattr(blocks_module, "LARGE_VALUES", 100)
    trained = json.loads(run(capsys, "train", file, "-o", model, "--lam", 0.05, "--json"))
    assert trained["training"]["rows"] == 140
    for limit in (100, 50_000_000):
        monkeypatch.setattr(blocks_module, "LARGE_VALUES", limit)
        evaluated = json.loads(run(capsys, "evaluate", model, file, "--json"))
        assert evaluated["remark"] == "None of these rows were used in training."
        said.append((evaluated["evaluation"]["figures"], run(capsys, "predict", model, file, "--keep", "c")))
    assert said[0][0] == trained["held_out"]["figures"]
    assert said[1][0] == pytest.approx(said[0][0])  # the rows are in another order
    assert said[1][1] == said[0][1]


def test_texts_that_are_numbers_are_classes_as_of_the_table_in_memory(table, tmp_path):
    y = np.array(["1", "2", "10"])[np.arange(len(table)) % 3]
    table.assign(target=y).to_parquet(tmp_path / "numbers.parquet")
    blocks, memory = open_blocks(tmp_path / "numbers.parquet"), load_dataset(tmp_path / "numbers.parquet")
    assert blocks.classes.tolist() == memory.classes.tolist() == [1, 2, 10]
    np.testing.assert_array_equal(blocks.y, memory.y)
    assert sum(part.n_samples for part in blocks) == len(table)
