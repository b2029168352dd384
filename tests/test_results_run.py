"""The run loop: when it certifies, when it stops, what it reports."""

import itertools

import numpy as np
import pytest

from medn_edu.problems import Certificate
from medn_edu.results import Iterate, run


class Toy:
    """A problem whose gap halves with every pass; its solver's estimates can be made to lie."""

    n_samples = 10

    def __init__(self, flattery=1.0, stuck=0.0):
        self.flattery, self.stuck = flattery, stuck
        self.certified = []

    def solve(self, n=None, stopped=""):
        """Yield iterates, which are live; ``stopped`` marks the last of ``n``."""
        weights = np.zeros(1)
        for k in itertools.count(1):
            weights[0] = 2.0**-k
            gap = max(weights[0] * self.flattery, self.stuck)
            yield Iterate(weights, gap, 1.0, 10 * k, stopped=stopped if k == n else "")
            if k == n:
                return

    def certify(self, weights, alpha=None):
        self.certified.append(float(weights[0]))
        return Certificate(1.0, 1.0 - weights[0])

    def run(self, n=None, stopped="", tol=1e-9, max_iter=50, **told):
        return run(self.solve(n, stopped), self, tol=tol, max_iter=max_iter, **told)


def test_stops_at_the_certified_gap():
    """With honest estimates one certificate is enough."""
    problem = Toy()
    result = problem.run(tol=0.01)
    assert result.converged
    assert result.n_passes == 7
    assert problem.certified == [2.0**-7]
    assert result.gap == pytest.approx(2.0**-7)
    assert result.n_oracle_calls == 70 + 10
    assert [p.n_passes for p in result.trace] == list(range(1, 8))
    assert np.isnan(result.trace[0].primal)
    assert result.trace[-1].primal == 1.0


def test_a_flattering_estimate_never_ends_the_run():
    """Only the certificate does; a liar is asked rarely, but not never again."""
    for problem in (Toy(flattery=0.01), Toy(flattery=0.01, stuck=0.001)):
        result = problem.run(tol=0.01)
        assert result.converged
        assert result.relative_gap <= 0.01
        assert 1 < len(problem.certified) < result.n_passes < 50
    problem = Toy(flattery=1e-9)
    problem.run(tol=1e-9)
    assert problem.certified == [2.0**-k for k in (1, 12, 23, 30)], "after ten passes in vain again"


def test_other_ends_are_told_with_a_certificate():
    for options, n_passes, status in (
        ({"max_iter": 3}, 3, "stopped after 3 passes"),
        ({"n": 4, "stopped": "no descent"}, 4, "no descent"),
        ({"n": 4}, 4, "the solver ended"),
    ):
        result = Toy().run(**options)
        assert not result.converged
        assert (result.n_passes, result.status) == (n_passes, status)
        assert result.relative_gap == pytest.approx(2.0**-n_passes)
    with pytest.raises(ValueError, match="yielded nothing"):
        run([], Toy(), tol=0.1, max_iter=3)
    for limits in ({"tol": 0}, {"tol": -1}, {"tol": float("nan")}, {"max_iter": 0}):
        with pytest.raises(ValueError, match=r"(tol|max_iter) is"):
            Toy().run(**limits)


def test_callback_and_record_see_every_pass_and_the_first_may_stop():
    seen, recorded = [], []
    result = Toy().run(
        callback=lambda point: seen.append(point.n_passes) or point.n_passes == 5,
        record=lambda n, iterate: recorded.append((n, float(iterate.weights[0]))),
    )
    assert seen == [1, 2, 3, 4, 5]
    assert recorded == [(n, 2.0**-n) for n in seen]
    assert result.status == "stopped by the callback"
    assert result.gap == pytest.approx(2.0**-5)


def test_relative_gap_of_degenerate_problems():
    """A vanishing or negative gap is 0; a gap at primal 0 is infinite."""
    assert Certificate(0.0, 0.0).relative_gap == Certificate(1.0, 1.0 + 1e-17).relative_gap == 0.0
    for primal, dual in ((0.0, -1.0), (5.0, -np.inf), (1.0, 50.0)):  # no dual exceeds a primal
        assert Certificate(primal, dual).relative_gap == np.inf
