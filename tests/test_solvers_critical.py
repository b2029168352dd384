"""The constant at which the first weight leaves zero: by enumeration, by training, refusals."""

import math
import warnings
from dataclasses import replace

import numpy as np
import pytest
from enumerated import FORBIDDEN, KINDS, make_data
from scipy.optimize import linprog
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from medn_edu import CRF, L1M3N, M3N, MEDN, EpsilonMarkovNetwork, LaplaceMEDN, make_chain_crf
from medn_edu.priors import GaussianPrior
from medn_edu.problems import ElasticNet, L1Norm, L2Norm, MarginLoss, Problem, SoftMaxLoss
from medn_edu.slacks import LinearSlack, QuadraticSlack
from medn_edu.solvers import critical_constant
from medn_edu.theory.medn import enumerate_problem

MARGINS = MarginLoss(LinearSlack(3.0))
WITH_L1 = {
    "L1M3N": L1M3N(tol=1e-8),
    "M3N": M3N(l1_ratio=0.7, tol=1e-8, max_iter=20_000),
    "CRF": CRF("l1", tol=1e-9),
    "elastic-net CRF": CRF("elasticnet", l1_ratio=0.4, tol=1e-9),
}
X, Y = [np.array([[1.0, 0.0], [0.5, 2.0]]), np.array([[0.0, 1.0]])], ["ab", "b"]


def written_out(data) -> tuple[float, float]:
    """The linear program over all labellings of the largest loss, and the largest gradient at zero."""
    rows = enumerate_problem(data, GaussianPrior(), LinearSlack(1.0))
    most = np.array([rows.losses[rows.sample == i].max() for i in range(rows.n_samples)])
    tied = rows.losses > most[rows.sample] - 1e-9
    eta = (rows.differences * rows.sample_weight[rows.sample, None])[tied].T
    ones = np.ones((len(eta), 1))
    best = linprog(
        np.append(np.zeros(eta.shape[1]), 1.0),
        A_ub=np.block([[eta, -ones], [-eta, -ones]]), b_ub=np.zeros(2 * len(eta)),
        A_eq=np.pad(rows.member[tied].T, ((0, 0), (0, 1))), b_eq=np.ones(rows.n_samples),
    )  # fmt: skip
    shares = (rows.sample_weight / rows.member.sum(axis=0))[rows.sample]
    return 0.5 / best.fun, np.abs(shares @ rows.differences).max()


def as_handed_in(kind: str, seed: int):
    """A random training set as users have it, and the transitions that it forbids."""
    data = make_data(kind, seed)
    y = data.samples.split(data.labels)
    forbidden = {0: [FORBIDDEN]} if "forbidden" in kind else None
    return forbidden, (data.samples, y, data.sample_weight)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", KINDS)
def test_constants_by_enumeration(kind, seed):
    """Forbidden transitions, costs and label sets change which labellings have the largest loss."""
    data = make_data(kind, seed)
    C, lam = written_out(data)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = critical_constant(Problem(data, MARGINS, L1Norm()))
    assert C * (1 - 1e-6) <= found <= C * (1 + 1e-9)  # from the side that proves something
    net = Problem(data, MARGINS, ElasticNet(l1=0.2, l2=5.0))
    assert critical_constant(net) == pytest.approx(0.4 * C, rel=1e-6)
    loss = SoftMaxLoss()
    assert critical_constant(Problem(data, loss, L1Norm())) == pytest.approx(lam, rel=1e-9)
    net = Problem(data, loss, ElasticNet(l1=0.5, l2=2.0))
    assert critical_constant(net) == pytest.approx(5 * lam, rel=1e-9)


@pytest.mark.parametrize("name", WITH_L1)
@pytest.mark.parametrize("kind", ["chain", "tree types forbidden weights"])
def test_the_first_weight_leaves_zero_there(kind, name):
    forbidden, training = as_handed_in(kind, seed=3)
    model = clone(WITH_L1[name]).set_params(forbidden=forbidden)
    before = dict(vars(model))
    constant = model.critical_constant(*training)
    assert vars(model) == before
    margin = isinstance(model, L1M3N | M3N)
    for factor in (0.99, 1.01):
        model.set_params(**{"C" if margin else "lam": factor * constant}).fit(*training)
        assert model.weights_.any() == ((factor > 1) == margin)
        assert model.critical_constant(*training) == constant


@pytest.mark.parametrize("n_labels", [2, 4])
def test_beyond_enumeration(n_labels):
    """With two labels nothing ties; with four, ``3 ** 8`` labellings of each sample do."""
    bunch = make_chain_crf(40, 20, 8, n_labels, sampler="exact", random_state=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        C = L1M3N().critical_constant(bunch.data, bunch.target)
    for factor in (0.999, 1.001):
        model = L1M3N(factor * C, tol=1e-9).fit(bunch.data, bunch.target)
        assert model.weights_.any() == (factor > 1)


def test_letters(ocr):
    """Thousands of weights and as good as no labelling twice."""
    first = np.flatnonzero(ocr.fold == 0)[:30]
    words, letters = [ocr.data[i] for i in first], [ocr.target[i] for i in first]
    model = L1M3N(tol=1e-4, clean_up=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        C = model.critical_constant(words, letters)
    assert not model.set_params(C=0.999 * C).fit(words, letters).weights_.any()
    assert model.set_params(C=1.05 * C).fit(words, letters).weights_.any()


@pytest.mark.parametrize("size", [1e-40, 1e-6, 1e6, 1e40])
def test_units_of_features_and_weights(size):
    """The constant is inverse to the scale of features and to sample weights."""
    data = make_data("tree forbidden weights", seed=1)
    C = critical_constant(Problem(data, MARGINS, L1Norm()))
    heavy = replace(data, sample_weight=size * data.sample_weight)
    assert critical_constant(Problem(heavy, MARGINS, L1Norm())) == pytest.approx(C / size, rel=1e-6)
    features = [size * np.ones((2, 1)), size * np.ones((1, 1))]
    found = L1M3N().critical_constant(features, ["aa", "b"])
    assert found == pytest.approx(0.5 / max(size, 1.0), rel=1e-6)


def test_no_weight_ever_leaves_zero():
    """Where equal samples contradict each other, also if it takes a mixture to see that."""
    same = [np.array([[1.0, 2.0]])] * 3
    for y in ("ab", "abc"):
        assert L1M3N().critical_constant(same[: len(y)], list(y)) == math.inf
        assert CRF("l1").critical_constant(same[: len(y)], list(y)) == pytest.approx(0.0, abs=1e-12)


def test_a_wide_gap_is_warned_of(monkeypatch):
    """What is returned is proved all the same."""
    data = make_chain_crf(40, 20, 8, 4, sampler="exact", random_state=1)
    best = L1M3N().critical_constant(data.data, data.target)
    monkeypatch.setattr("medn_edu.solvers.critical._MOST_ROUNDS", 2)
    with pytest.warns(ConvergenceWarning, match="found to a relative gap of 0.* instead of 1e-06"):
        assert 0 < L1M3N().critical_constant(data.data, data.target) < best


@pytest.mark.parametrize(
    "model",
    [M3N(), CRF(), CRF(None), CRF("elasticnet", l1_ratio=0.0), MEDN(), LaplaceMEDN(),
     EpsilonMarkovNetwork()],
)  # fmt: skip
def test_models_without_magnitudes_have_no_constant(model):
    with pytest.raises(AttributeError, match=r"has no critical_constant, .* no L1 term; expected"):
        model.critical_constant(X, Y)


def test_refusals():
    for name, solver in (("radius", "subgradient"), ("lam", "em")):
        model = L1M3N(solver=solver)
        assert model.critical_constant(X, Y) == L1M3N().critical_constant(X, Y)
        with pytest.raises(AttributeError, match=f"{name} given, .* expected {name}=None"):
            model.set_params(**{name: 2.0}).critical_constant(X, Y)
    with pytest.raises(ValueError, match="2 samples but y has 1"):
        L1M3N().critical_constant(X, Y[:1])
    with pytest.raises(ValueError, match="tol is -1"):
        CRF("l1", tol=-1).critical_constant(X, Y)
    problem = Problem.of(X, Y, MARGINS, L2Norm())
    with pytest.raises(TypeError, match=r"the regulariser is L2Norm.* expected an ElasticNet"):
        critical_constant(problem)
    with pytest.raises(TypeError, match="LinearSlack"):
        critical_constant(Problem.of(X, Y, MarginLoss(QuadraticSlack()), L1Norm()))
