"""The explorers of Algorithm 1 show what the package's solver does; their lessons can fail."""

from __future__ import annotations

import numpy as np
import pytest

from medn_edu import LaplaceMEDN
from medn_edu.explorers import majorants, variational
from medn_edu.explorers.majorants import KINDS, MOST_ITERATIONS, majorant_frame
from medn_edu.explorers.variational import variational_trail
from medn_edu.theory.axi import WORDS
from medn_edu.theory.laplace import jensen_bound


@pytest.fixture(scope="module")
def parabolas():
    return majorants()


@pytest.fixture(scope="module")
def three_words():
    return variational()


def test_lessons_can_fail(parabolas, three_words):
    stays_above, passes, arrives = parabolas.lessons
    assert not stays_above.holds(KINDS[1], 4, 4, 1.0)
    assert not passes.holds(KINDS[0], 2, 4, 1.0)
    assert not passes.holds(KINDS[0], 12, 1, 2.0)
    assert not arrives.holds(KINDS[0], 8, 4, 1.0)
    assert not arrives.holds(KINDS[1], 1, 4, 1.0)
    third, rises, stands = three_words.lessons
    assert not third.holds(2, 16)
    assert not third.holds(3, 36)
    assert not rises.holds(3, 16)
    assert not stands.holds(2, 36)


# -- one weight ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("lam", "C"), [(4.0, 1.0), (9.0, 0.5), (2.0, 2.0)])
def test_curves(lam, C):
    """The bound is the lowest of all, over q and variances; the least costs are where it is said."""
    frame = majorant_frame(KINDS[0], MOST_ITERATIONS, lam, C)
    variances = np.geomspace(0.02, 20, 4001)
    penalty = C * np.maximum(0, 1 - frame.w)
    best = [jensen_bound(np.full_like(variances, w), variances, lam).min() for w in frame.w]
    np.testing.assert_allclose(frame.bound, np.array(best) + penalty, atol=1e-5)
    assert np.abs(frame.w[frame.true.argmin()] - frame.exact) < 0.011
    assert np.abs(frame.w[frame.bound.argmin()] - frame.limit) < 0.011
    assert (np.diff(frame.bounds) <= 1e-12).all()
    for kind in KINDS:
        lower = frame.bound if kind == KINDS[0] else frame.true
        for number in (1, 3, 8):
            here = majorant_frame(kind, number, lam, C)
            assert (here.parabola >= lower - 1e-9).all()
            at = frame.w[here.parabola.argmin()]
            assert abs(at - here.means[-1]) < 0.011


def test_majorants_figure_shows_the_frame(parabolas):
    parabolas.set(kind=KINDS[0], number=3, lam=4, C=1.0)
    frame = majorant_frame(KINDS[0], 3, 4.0, 1.0)
    assert f"mean {frame.means[-1]:.3f}, bound {frame.bounds[-1]:.3f}" in parabolas.summary
    curves, means, costs = parabolas.figure.axes
    drawn = {line.get_label(): line.get_ydata() for line in curves.lines}
    np.testing.assert_array_equal(drawn["true cost"], frame.true)
    np.testing.assert_array_equal(drawn["this iteration's parabola"], frame.parabola)
    np.testing.assert_array_equal(means.lines[0].get_ydata(), frame.means)
    np.testing.assert_array_equal(costs.lines[0].get_ydata(), frame.bounds)
    np.testing.assert_array_equal(costs.lines[1].get_ydata(), frame.costs)


def test_what_there_is_not_is_refused():
    with pytest.raises(ValueError, match="expected one of Algorithm 1"):
        majorant_frame("EM", 1, 4.0, 1.0)
    with pytest.raises(ValueError, match="expected 1 to 12"):
        majorant_frame(KINDS[0], 13, 4.0, 1.0)


# -- three words ----------------------------------------------------------------------------------


def test_the_trail_is_the_estimators():
    trail, lam = variational_trail(16), 16.0
    X, y = [word.ink for word in WORDS], [word.true for word in WORDS]
    three = LaplaceMEDN(1.0, lam, "variational", n_iterations=3, tol=1e-6).fit(X, y)
    exact = LaplaceMEDN(1.0, lam, tol=1e-6).fit(X, y)
    every = [b + "|" + x for b in "axi" for x in "axi"] + [a + b for a in "axi" for b in "axi"]
    order = [every.index(name) for name in trail.names]
    assert three.bounds_ == pytest.approx(trail.bounds[:3], rel=1e-3)
    np.testing.assert_allclose(trail.means[2], three.posterior_mean_[order], atol=5e-3)
    np.testing.assert_allclose(trail.variances[2], three.posterior_variance_[order], rtol=1e-2)
    np.testing.assert_allclose(trail.exact_means, exact.posterior_mean_[order], atol=5e-3)
    np.testing.assert_allclose(trail.exact_variances, exact.posterior_variance_[order], rtol=2e-2)
    assert trail.costs[2] == pytest.approx(three.result_.primal, rel=1e-3)
    assert (trail.bounds > trail.costs).all()
    assert trail.costs.min() > trail.exact_cost


def test_variational_figure_shows_the_trail(three_words):
    three_words.set(number=4, lam=9)
    trail = variational_trail(9)
    assert f"bound {trail.bounds[3]:.2f}, true cost {trail.costs[3]:.2f}" in three_words.summary
    means, costs, variances, _ = three_words.figure.axes
    dots = next(line for line in means.lines if line.get_label() == "Algorithm 1")
    np.testing.assert_array_equal(dots.get_ydata(), trail.means[3])
    ghost = next(c for c in means.collections if c.get_label() == "exact solution")
    heights = [segment[1, 1] for segment in ghost.get_segments()]
    np.testing.assert_array_equal(heights, trail.exact_means)
    np.testing.assert_array_equal(variances.lines[0].get_ydata(), trail.variances[3])
    np.testing.assert_array_equal(costs.lines[0].get_ydata(), trail.bounds[:4])
    assert [text.get_text() for text in means.get_xticklabels()] == list(trail.names)
