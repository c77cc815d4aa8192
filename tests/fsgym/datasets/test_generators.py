"""The generators: facts that their descriptions state, and posteriors compared with independent computations."""

from itertools import product

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import chi2, norm

from fsgym.datasets import GENERATORS, Cube, CubeNM, CubeNUC, Syn, list_datasets, load_dataset
from fsgym.datasets.generators import Components
from fsgym.datasets.logits import L2, L3
from support.refusals import refused

CUBES = [Cube(), CubeNUC(), CubeNM(), CubeNM(n_contexts=3, context_noise=0.6), CubeNM(2, 1e-4)]


def probability(L):
    return 1 / (1 + np.exp(L))


@pytest.mark.parametrize(("rule", "size", "accuracy"), [(1, 4, 0.81), (2, 4, 0.80), (3, 5, 0.83)])
def test_the_published_stream(rule, size, accuracy):
    state = np.random.mtrand._rand.get_state()[1].tobytes()
    generator = Syn(rule)
    data = generator.published()
    assert np.random.mtrand._rand.get_state()[1].tobytes() == state
    stream = np.random.RandomState(8139)
    for _ in range(rule):
        x, uniform = stream.normal(size=(80_000, 11)), stream.rand(80_000)
    L1 = 4 * x[:, 0] * x[:, 1]
    L2 = 1.2 * (x[:, 2:6] ** 2).sum(axis=1) - 4.2
    L3 = -10 * np.sin(0.2 * x[:, 6]) + abs(x[:, 7]) + x[:, 8] + np.exp(-x[:, 9]) - 2.4
    first, second = [(L1, L2), (L1, L3), (L2, L3)][rule - 1]
    p = probability(np.where(x[:, 10] < 0, first, second))
    np.testing.assert_array_equal(data.X, x.astype(np.float32))
    np.testing.assert_array_equal(data.y, uniform < p)
    np.testing.assert_allclose(generator.posterior(x[:2000])[:, 1], p[:2000], rtol=1e-12)
    assert generator.relevant(data.X).sum(axis=1).mean() == pytest.approx(size, abs=0.015)
    assert (data.y == (p > 0.5)).mean() == pytest.approx(accuracy, abs=0.01)
    assert data.feature_names[0] == "x1"


def test_relevant_features():
    X = np.zeros((2, 11))
    X[0, 10] = -1
    sets = {
        1: ({0, 1, 10}, {2, 3, 4, 5, 10}),
        2: ({0, 1, 10}, {6, 7, 8, 9, 10}),
        3: ({2, 3, 4, 5, 10}, {6, 7, 8, 9, 10}),
    }
    for rule, expected in sets.items():
        assert tuple(set(np.flatnonzero(row).tolist()) for row in Syn(rule).relevant(X)) == expected
    X[0, 10] = np.nan
    with pytest.raises(ValueError, match="x11 in every row"):
        Syn(1).relevant(X)


@pytest.mark.parametrize("n_known", range(5))
def test_a_sum_of_squares_by_the_chi_square_distribution(n_known):
    X = np.random.default_rng(0).standard_normal((5, 11))
    which = [5, 3, 2, 4][:n_known]
    known = np.zeros(X.shape, bool)
    known[:, which] = True
    density = chi2(4 - n_known).pdf if n_known < 4 else None

    def integrand(root, total):  # of the square root of chi-square, as its density is finite at 0
        return probability(total + 1.2 * root**2) * density(root**2) * 2 * root

    for row, p in zip(X, L2.probability(X, known)):
        total = 1.2 * (row[which] ** 2).sum() - 4.2
        expected = probability(total) if n_known == 4 else quad(integrand, 1e-12, 9, (total,), epsabs=1e-12)[0]
        assert p == pytest.approx(expected, abs=1e-8)


TERMS = [lambda x: -10 * np.sin(0.2 * x), np.abs, lambda x: x, lambda x: np.exp(-x)]


@pytest.mark.parametrize("known", [k for k in product([False, True], repeat=4) if not all(k)], ids=str)
def test_a_sum_of_four_functions_by_other_integrations(known):
    """Adaptive quadrature for one unknown feature, the trapezoidal rule for two, and random draws for more."""
    X = np.random.default_rng(1).standard_normal((2, 11))
    mask = np.zeros(11, bool)
    mask[6:10] = known
    free = [TERMS[i] for i in range(4) if not known[i]]
    for row, p in zip(X, L3.probability(X, np.tile(mask, (2, 1)))):
        fixed = sum(t(v) for t, v, k in zip(TERMS, row[6:10], known) if k) - 2.4
        if len(free) == 1:
            parts = [quad(_integrand, a, b, (fixed, free[0]), epsabs=1e-11)[0] for a, b in ((-6.5, 0), (0, 6.5))]
            assert p == pytest.approx(sum(parts), abs=1e-8)
        elif len(free) == 2:
            grid = np.linspace(-6.5, 6.5, 521)
            weights = norm.pdf(grid) * 0.025
            expected = weights @ probability(fixed + np.add.outer(free[0](grid), free[1](grid))) @ weights
            assert p == pytest.approx(expected, abs=2e-5)
        else:
            draws = np.random.default_rng(2).standard_normal((100_000, len(free)))
            values = probability(fixed + sum(t(x) for t, x in zip(free, draws.T)))
            assert p == pytest.approx(values.mean(), abs=5 * values.std() / np.sqrt(len(values)))


def _integrand(x, fixed, term):
    return probability(fixed + term(x)) * norm.pdf(x)


def test_probabilities_of_syn_given_some_values():
    X = np.random.default_rng(3).standard_normal((4, 11))
    known = np.zeros(11, bool)
    known[[0, 10]] = True
    X[:2, 10], X[2:, 10] = -1, 1
    p = Syn(1).posterior(X, known)
    np.testing.assert_allclose(p[:2], 0.5)  # one factor of a product says nothing
    np.testing.assert_allclose(p[2:], Syn(1).posterior(X, np.arange(11) == 10)[2:])
    without_switch = Syn(3).posterior(np.where(np.arange(11) == 10, np.nan, X))
    both = [Syn(3).posterior(np.where(np.arange(11) == 10, sign, X)) for sign in (-1, 1)]
    np.testing.assert_allclose(without_switch, np.mean(both, axis=0))
    huge = np.full((1, 11), 1e6)
    assert np.isfinite([Syn(r).posterior(s * huge) for r in (1, 2, 3) for s in (-1, 1)]).all()


def parameters(generator, context, c, feature):
    """Mean and standard deviation of a feature, from the description."""
    bits = [int(b) for b in f"{c:03b}"]
    if isinstance(generator, CubeNM):
        if feature < generator.n_contexts:
            return float(feature == context), generator.context_noise
        block, feature = divmod(feature - generator.n_contexts, 10)
        feature = feature if block == context else -1
    elif isinstance(generator, CubeNUC):
        feature %= 10
    return (bits[feature - c], 0.1) if c <= feature <= c + 2 else (0.5, 0.3)


@pytest.mark.parametrize("generator", CUBES, ids=str)
def test_probabilities_of_the_cubes_by_enumeration(generator):
    X = generator.sample(12, random_state=0).X.astype(float)
    rng = np.random.default_rng(1)
    known = rng.random(X.shape) < rng.random((12, 1))
    known[0], known[1] = False, True
    if isinstance(generator, CubeNM):
        known[2:7, : generator.n_contexts] = False
    contexts = range(getattr(generator, "n_contexts", 1))
    expected = np.zeros((12, 8))
    for c, context in product(range(8), contexts):
        mean, sd = np.transpose([parameters(generator, context, c, f) for f in range(X.shape[1])])
        expected[:, c] += np.exp(np.where(known, norm.logpdf(X, mean, sd), 0).sum(axis=1))
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(generator.posterior(X, known), expected, atol=1e-12)
    np.testing.assert_allclose(generator.posterior(np.where(known, X, np.nan)), expected, atol=1e-12)
    np.testing.assert_allclose(generator.posterior(X, known)[0], 1 / 8)


@pytest.mark.parametrize("generator", CUBES, ids=str)
def test_rows_of_the_cubes_have_the_described_moments(generator):
    data = generator.sample(30_000, random_state=2)
    contexts = data.X[:, : generator.n_contexts].argmax(axis=1) if isinstance(generator, CubeNM) else np.zeros(30_000)
    certain = getattr(generator, "context_noise", 0.0) < 0.2
    for c, context in product((0, 5), (0, 1) if isinstance(generator, CubeNM) and certain else (0,)):
        rows = data.X[(data.y == c) & (contexts == context)]
        mean, sd = np.transpose([parameters(generator, context, c, f) for f in range(data.n_features)])
        which = slice(None) if certain else []
        np.testing.assert_allclose(rows.mean(axis=0)[which], mean[which], atol=0.06)
        np.testing.assert_allclose(rows.std(axis=0)[which], sd[which], atol=0.04)
    assert np.bincount(data.y) / len(data.y) == pytest.approx(1 / 8, abs=0.01)


def test_groups_and_prices():
    assert Cube().sample(5).groups is None
    assert CubeNUC().sample(5).costs.tolist() == [1.0] * 10 + [2.0] * 10
    data = CubeNM().sample(5)
    assert (data.n_features, len(data.acquisition_names)) == (55, 51)
    assert data.groups[0] == (0, 1, 2, 3, 4)
    assert data.acquisition_names[:2] == ("context", "block0_x0")
    assert CubeNM(7).sample(5).X.shape == (5, 77)
    assert len(CubeNM(7).sample(5).acquisition_names) == 71
    assert CubeNM(7).posterior(CubeNM(7).sample(5).X).shape == (5, 8)
    assert CubeNM(7).block(6).tolist() == list(range(67, 77))


@pytest.mark.parametrize("generator", GENERATORS.values(), ids=str)
def test_samples_are_reproducible(generator):
    once, again = (generator.sample(50, random_state=3) for _ in range(2))
    assert (once.X.tobytes(), once.y.tobytes()) == (again.X.tobytes(), again.y.tobytes())
    assert generator.sample(50, random_state=4).X.tobytes() != once.X.tobytes()
    assert generator.sample(50, np.random.default_rng(3)).X.tobytes() == once.X.tobytes()
    one = generator.sample(1, random_state=0)
    assert (one.n_samples, one.n_classes, one.name) == (1, generator.n_classes, generator.name)


def test_weights_of_components_at_extreme_values():
    far = Components(np.arange(2), np.array([[0.0], [1.0]]), np.full((2, 1), 0.001))
    weights = far.weights(far.log_densities(np.array([[5.0]]), np.array([[True]])))
    np.testing.assert_allclose(weights, [[0, 1]], atol=1e-300)
    at_once = far.log_densities_of(np.array([0]), np.array([0.4]))
    np.testing.assert_allclose(np.diff(at_once), np.diff(far.log_densities(np.array([[0.4]]), np.array([[True]]))))


def test_invalid_parameters():
    for wrong in (0, 4, 1.5, True, "1"):
        refused(ValueError, "rule must be 1, 2 or 3", wrong, call=Syn)
    for wrong in (1, 2.5, 10_000):
        refused(ValueError, "n_contexts must be a whole number, 2 to 100", wrong, call=CubeNM)
    refused(ValueError, "context_noise must be finite and at least 0.0001, got 0", context_noise=0, call=CubeNM)
    refused(TypeError, "context_noise must be a number", context_noise="much", call=CubeNM)
    for generator in GENERATORS.values():
        refused(ValueError, "n_samples must be a whole number, 1 or more, got 0", 0, call=generator.sample)
        refused(ValueError, "random_state must be None", 5, "seed", call=generator.sample)
        refused(ValueError, rf"X must have shape \(n, {generator.n_features}\)", [[0.0]], call=generator.posterior)
        X = np.zeros((2, generator.n_features))
        refused(ValueError, "known must be bool", X, np.zeros(3, bool), call=generator.posterior)
        refused(ValueError, "known must be bool", X, X, call=generator.posterior)
        refused(ValueError, "X must be finite", X + np.inf, call=generator.posterior)
        refused(ValueError, "X must be finite", X + np.nan, X == 0, call=generator.posterior)
    refused(TypeError, "X must be an array of numbers", [["a"]], call=Cube().posterior)


def test_generators_by_name(no_folder):
    table = list_datasets().set_index("name")
    for name, generator in GENERATORS.items():
        row = table.loc[name]
        assert (row["source"], row["n_features"]) == ("generated", generator.n_features)
        if name in ("syn2", "syn3"):
            continue  # as syn1
        data = load_dataset(name)
        assert (data.n_samples, data.n_features, data.n_classes) == tuple(row[["n_samples", "n_features", "n_classes"]])
        assert row["groups"] == (0 if data.groups is None else len(data.groups))
        assert data.name == name
    train, test = load_dataset("syn1", "train"), load_dataset("syn1", "test")
    assert (train.n_samples, test.n_samples) == (70_000, 10_000)
    assert test.X.tobytes() == Syn(1).published().X[70_000:].tobytes()
    assert load_dataset("cube", drop=["x19"]).n_features == 19
    assert load_dataset("cube").X.tobytes() == Cube().sample(20_000, random_state=0).X.tobytes()
    refused(ValueError, "'cube', a generated set, is none", "cube", target="y")
    refused(ValueError, "did you mean 'cube_nm'", "cube_mn")


def test_a_data_set_of_the_folder_replaces_a_generator_of_its_name(tmp_path):
    (tmp_path / "cube.csv").write_text("a,target\n1,yes\n2,no\n")
    assert load_dataset("cube", data_dir=tmp_path).n_samples == 2
    listed = list_datasets(tmp_path)
    assert listed.set_index("name").loc["cube", "source"] == "folder"
