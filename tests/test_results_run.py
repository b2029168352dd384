"""The run loop: when it certifies, when it stops, what it reports."""

import itertools

import numpy as np
import pytest

from medn_edu.problems import Certificate
from medn_edu.results import Iterate, run


class Toy:
    """A problem whose gap halves with every pass; its solver's estimates can be made to lie."""

    n_samples = 10
    has_dual = True

    def __init__(self, flattery=1.0):
        self.flattery = flattery
        self.certified = []

    def solve(self, n=None, stopped=""):
        """Yield iterates; ``stopped`` marks the last of ``n``."""
        weights = np.zeros(1)
        for k in itertools.count(1):
            weights[0] = 2.0**-k
            done = n is not None and k == n
            gap = weights[0] * self.flattery
            yield Iterate(weights, gap, 1.0, 10 * k, stopped=stopped if done else "")
            if done:
                return

    def certify(self, weights, alpha=None):
        """Return primal 1 and a dual below it by the current weight."""
        self.certified.append(float(weights[0]))
        return Certificate(1.0, 1.0 - weights[0])


def test_stops_at_the_certified_gap():
    """With honest estimates one certificate is enough."""
    problem = Toy()
    result = run(problem.solve(), problem, tol=0.01, max_iter=50)
    assert result.converged
    assert result.n_passes == 7
    assert problem.certified == [2.0**-7]
    assert result.gap == pytest.approx(2.0**-7)
    assert result.n_oracle_calls == 70 + 10
    assert [p.n_passes for p in result.trace] == list(range(1, 8))
    assert np.isnan(result.trace[0].primal)
    assert result.trace[-1].primal == 1.0


def test_a_flattering_estimate_never_ends_the_run():
    """Only the certificate does, and a liar is asked rarely."""
    problem = Toy(flattery=0.01)
    result = run(problem.solve(), problem, tol=0.01, max_iter=50)
    assert result.converged
    assert result.relative_gap <= 0.01
    assert 1 < len(problem.certified) < result.n_passes


def test_out_of_passes():
    """The last pass is certified whatever the estimate says."""
    problem = Toy()
    result = run(problem.solve(), problem, tol=1e-9, max_iter=3)
    assert not result.converged
    assert result.n_passes == 3
    assert result.relative_gap == pytest.approx(0.125)
    assert result.status == "stopped after 3 passes"


def test_a_solver_may_end_or_say_why_it_stops():
    """Both are reported, with a certificate."""
    problem = Toy()
    result = run(problem.solve(4, stopped="no descent"), problem, tol=1e-9, max_iter=50)
    assert result.status == "no descent"
    result = run(problem.solve(4), problem, tol=1e-9, max_iter=50)
    assert result.status == "the solver ended"
    assert result.n_passes == 4
    assert result.relative_gap == pytest.approx(2.0**-4)
    with pytest.raises(ValueError, match="yielded nothing"):
        run([], problem, tol=0.1, max_iter=3)


def test_callback_sees_every_pass_and_may_stop():
    """A true answer ends the run."""
    problem, seen = Toy(), []
    result = run(
        problem.solve(), problem, tol=1e-9, max_iter=50,
        callback=lambda point: seen.append(point.n_passes) or point.n_passes == 5,
    )  # fmt: skip
    assert seen == [1, 2, 3, 4, 5]
    assert result.status == "stopped by the callback"
    assert result.gap == pytest.approx(2.0**-5)


def test_what_is_recorded_is_live():
    """Every pass is shown, and what is to last must be copied."""
    seen, copies = [], []
    problem = Toy()
    result = run(
        problem.solve(), problem, tol=0.01, max_iter=50,
        record=lambda n, iterate: (seen.append(n), copies.append(iterate.weights.copy())),
    )  # fmt: skip
    assert seen == list(range(1, result.n_passes + 1))
    assert [w[0] for w in copies] == [2.0**-n for n in seen]


@pytest.mark.parametrize(("tol", "max_iter"), [(0, 3), (-1, 3), (float("nan"), 3), (0.1, 0)])
def test_bad_limits(tol, max_iter):
    """Named, with what was expected."""
    with pytest.raises(ValueError, match=r"(tol|max_iter) is"):
        run(Toy().solve(), Toy(), tol=tol, max_iter=max_iter)


def test_relative_gap_of_degenerate_problems():
    """A vanishing or negative gap is 0; a gap at primal 0 is infinite."""
    assert Certificate(0.0, 0.0).relative_gap == 0.0
    assert Certificate(1.0, 1.0 + 1e-17).relative_gap == 0.0
    assert Certificate(0.0, -1.0).relative_gap == np.inf
    assert Certificate(5.0, -np.inf).relative_gap == np.inf
    assert Certificate(1.0, 50.0).relative_gap == np.inf  # no dual value exceeds a primal one
