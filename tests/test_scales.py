"""Features and constants of extreme sizes: no false certificate, no early stop, no raw error."""

import io
import itertools
import math
import sys
import threading
import warnings
from fractions import Fraction

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from medn_edu import CRF, L1M3N, MEDN
from medn_edu.estimators import progress
from medn_edu.priors import ExponentialPrior, GaussianPrior, LaplacePrior
from medn_edu.problems import Certificate, DualVariables, L1Norm, MarginLoss, Problem
from medn_edu.problems.losses import score_rounding
from medn_edu.results import Iterate, TracePoint
from medn_edu.samples import Forest, label_samples, pack
from medn_edu.slacks import LinearSlack, QuadraticSlack

RNG = np.random.default_rng(0)
X = [RNG.normal(size=(4, 3)) for _ in range(10)]
Y = [list("abca") if i % 2 else list("bacb") for i in range(10)]


def labelled(X, costs=None):
    codes = np.array([ord(label) - ord("a") for labels in Y for label in labels])
    return label_samples(pack(X), codes, np.ones((1, 3, 3), dtype=bool), costs=costs)


@pytest.mark.parametrize("shift", [1e16, 1e50])
@pytest.mark.parametrize(
    "change", [lambda x, s: x + s, lambda x, s: x * s], ids=["offset", "scale"]
)
def test_scores_that_hide_the_loss_are_refused(change, shift):
    features = [change(x, shift) for x in X]
    with pytest.raises(
        ValueError, match=r"^sample \d of X has features of size .* rescale or centre"
    ):
        MEDN(ExponentialPrior()).fit(features, Y)


def test_a_certificate_counts_rounding():
    """At this offset primal and dual were both 0, while the hinge is 20."""
    data = labelled([x + 1e16 for x in X])
    samples = data.samples
    problem = Problem(data, MarginLoss(LinearSlack(1.0)), ExponentialPrior())
    on_truth = DualVariables(np.arange(10), samples.offsets, data.labels, np.ones(10))
    iterate = Iterate(np.ones(18), 0.0, 0.0, n_oracle_calls=0, dual=lambda: on_truth)
    assert iterate.certify(problem).relative_gap > 0.01


@pytest.mark.parametrize("norm", [False, True], ids=["prior", "norm"])
@pytest.mark.parametrize("size", [1.0, 1e8])
def test_the_bound_on_rounding_bounds_it(norm, size):
    """Against exact arithmetic, over all labellings."""
    features = [size * x for x in X[:5]] + [size + x for x in X[5:]]
    data = labelled(features)
    if norm:
        problem = Problem(data, MarginLoss(LinearSlack(1.0)), L1Norm())
    else:
        problem = Problem(data, MarginLoss(LinearSlack(1.0)), GaussianPrior())
    weights = np.random.default_rng(1).normal(size=18)
    coef, transitions = map(exact, problem.weight_shape.split(weights))
    _, found = problem.violated(weights)
    bound = score_rounding(data, weights)
    for i in (0, 9):
        node = exact(features[i]) @ coef.T

        def score(labels, node=node):
            pairs = itertools.pairwise(labels)
            return sum(node[range(4), labels]) + sum(transitions[0][pair] for pair in pairs)

        true = data.labels[4 * i : 4 * i + 4].tolist()
        violation = max(
            int(np.not_equal(labels, true).sum()) + score(labels) - score(true)
            for labels in map(list, itertools.product(range(3), repeat=4))
        )
        assert abs(Fraction(found[i]) - violation) <= Fraction(bound[i])
    assert bound.max() < 1e-12 * size  # and says something


def test_the_bound_on_rounding_knows_edge_features_and_costs():
    edges, weights = np.random.default_rng(1).normal(size=(4, 1)), np.ones(18)

    def bound(features, costs=1.0):
        data = labelled([Forest(x, edge_features=features) for x in X], np.full(40, costs))
        return score_rounding(data, weights)

    np.testing.assert_array_equal(bound(np.abs(edges)), bound(-np.abs(edges)))
    assert (bound(1e6 * edges) > 1e5 * bound(edges)).all()
    assert (bound(edges, 1e9) > 1e5 * bound(edges)).all()


def exact(array):
    return np.vectorize(Fraction, otypes=[object])(array)


def test_a_gap_is_never_smaller_than_a_rounding_that_counts():
    assert Certificate(1.0, 1.0, rounding=0.5, rounding_counts=True).relative_gap == 0.5
    assert Certificate(2.0, 1.0, rounding=1.0, rounding_counts=True).relative_gap == 1.0
    assert Certificate(1.0, 1.0, rounding=0.5).relative_gap == 0.0
    assert Certificate(8e-299, 16e-299, rounding=1e-310).relative_gap == math.inf
    assert Certificate(1.0, 1.0 + 1e-10).relative_gap == 0.0
    assert Certificate(1.0, 0.5).relative_gap == 0.5


@pytest.mark.parametrize("C", [1e-300, 1e-200, 1e-100, 1e-10])
@pytest.mark.parametrize("prior", [GaussianPrior(), LaplacePrior()], ids=["Gaussian", "Laplace"])
def test_a_tiny_quadratic_price(C, prior):
    """The dual was twice the primal, since the square of a dual variable underflowed."""
    result = MEDN(prior, QuadraticSlack(C), verbose=0).fit(X, Y).result_
    assert result.converged
    # Without weights every label is wrong, if somebody asks for it: (C / 2) 4^2 a sample.
    assert result.primal == pytest.approx(80 * C, rel=1e-6)
    assert result.dual <= result.primal * (1 + 1e-9)


@pytest.mark.parametrize("size", [1.0, 100.0, 1000.0])
def test_a_plain_field_looks_at_the_gradient(size):
    """With large features the likelihood changes little from pass to pass long before it is fitted."""
    scaled = [size * x for x in X]
    best = CRF(penalty=None, tol=1e-10, max_iter=5000, verbose=0).fit(scaled, Y).result_.primal
    reached = CRF(penalty=None, verbose=0).fit(scaled, Y).result_.primal
    assert reached == pytest.approx(best, rel=5e-3)


ODD_SIZES = {
    "offset": lambda x: x + 1e8,
    "large offset": lambda x: x + 1e50,
    "scale": lambda x: x * 1e10,
    "constant": lambda x: np.c_[x, np.full(len(x), 1e10)],
}


@pytest.mark.parametrize("change", ODD_SIZES.values(), ids=list(ODD_SIZES))
def test_a_plain_field_that_rounding_stops_says_so(change):
    """Transitions alone can fit these labels; where the features get in the way, there is a warning."""
    rng = np.random.default_rng(0)
    features = [change(rng.normal(size=(6, 4))) for _ in range(8)]
    labels = [[0, 1] * 3] * 8
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", ConvergenceWarning)
        model = CRF(penalty=None, verbose=0).fit(features, labels)
    assert told or model.score(features, labels) == 1.0
    for warning in told:
        assert "scale" in str(warning.message)


@pytest.mark.parametrize("solver", ["path", "cutting_plane"])
@pytest.mark.parametrize("shift", [1e15, 1e50])
def test_features_that_no_linear_program_takes(solver, shift):
    odd = [*X[:3], X[3] + shift, *X[4:]]
    with pytest.raises(ValueError, match=r"^sample 3 of X has features that add up to .*1e\+15"):
        L1M3N(solver=solver, verbose=0).fit(odd, Y)


def test_max_iter_bounds_the_path():
    """One chain, however long, is a single block: what lasts are the passes of each MEDN."""
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=300)
    chain = [np.eye(3)[labels] + rng.normal(size=(300, 3))]
    with pytest.warns(ConvergenceWarning, match="stopped after 3 passes"):
        result = L1M3N(max_iter=3, verbose=0).fit(chain, [labels]).result_
    # Two MEDNs of three passes, three decodings between them, three certificates; without the bound
    # there are hundreds.
    assert result.n_oracle_calls <= 20


class Terminal(io.StringIO):
    """Standard error that says it is watched, and when something has been written."""

    def __init__(self):
        super().__init__()
        self.written = threading.Event()

    def isatty(self):
        return True

    def write(self, text):
        if text.strip():
            self.written.set()
        return super().write(text)


def test_a_bar_appears_before_the_first_pass_is_over(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(progress, "DELAY", 0.01)
    monkeypatch.delenv("TQDM_DISABLE", raising=False)
    with progress.GapProgress("M3N", 0.01, shown=True):
        assert terminal.written.wait(60)  # no pass has ended
    assert "Training M3N" in terminal.getvalue()


def test_a_bar_follows_the_logarithm_of_the_gap(monkeypatch):
    """A first gap may be the tolerance already, or nothing."""
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.delenv("TQDM_DISABLE", raising=False)
    for gaps, shares in (([1.0, 0.1, 0.01], [0, 50, 100]), ([0.01], [100]), ([0.0], [0])):
        with progress.GapProgress("M3N", 0.01, shown=True) as told:
            for gap, share in zip(gaps, shares, strict=True):
                told(TracePoint(1, 1, 0.0, gap_estimate=2 * gap, objective_estimate=-2.0))
                assert told.bar.n == pytest.approx(share)
