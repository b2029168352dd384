"""Explorers of MEDN's algorithms show the solvers' own steps, which end where other solvers do."""

import numpy as np
import pytest

from medn_edu import LaplaceMEDN
from medn_edu.explorers import frank_wolfe, majorants, variational
from medn_edu.explorers.frank_wolfe import PRICES, PRIORS, frank_wolfe_passes, word_problem
from medn_edu.explorers.majorants import KINDS, MOST_ITERATIONS, majorant_frame
from medn_edu.explorers.variational import variational_trail
from medn_edu.slacks import LinearSlack
from medn_edu.theory import enumerate_problem, solve_dual
from medn_edu.theory.axi import WORDS
from medn_edu.theory.laplace import jensen_bound

LAPLACE = "Laplace, λ = 36"

# -- Frank-Wolfe ----------------------------------------------------------------------------------


@pytest.mark.parametrize("prior", PRIORS)
def test_passes_end_at_the_optimum_of_another_solver(prior):
    for C in PRICES:
        data = word_problem(PRIORS[prior], C).data
        best = solve_dual(enumerate_problem(data, PRIORS[prior], LinearSlack(C))).value
        start, *passes = frank_wolfe_passes(prior, C, True)
        assert start.primal == word_problem(PRIORS[prior], C).primal(start.weights)
        assert (start.dual, start.relative_gap, start.count) == (0.0, 1.0, 3)
        for each in passes:
            assert each.dual - 1e-6 <= best <= each.primal + 1e-6
            np.testing.assert_allclose(each.alpha.sum(axis=1), C)
            assert not (each.gone & (each.alpha > 0)).any()
            assert (each.alpha[each.new] > 0).all()
            np.testing.assert_allclose(each.weights, PRIORS[prior].mean(each.eta), atol=1e-9)
        assert each.dual == pytest.approx(best, rel=1e-5)


def test_frank_wolfe_shows_the_pass():
    explorer = frank_wolfe()
    frame = explorer.set(passes=4, prior=LAPLACE, C=3.0, cached=False).frame()
    passes = frank_wolfe_passes(LAPLACE, 3.0, False)
    here = passes[4]
    *words, bounds, _, curve = explorer.figure.axes
    for ax, gone, new in zip(words, here.gone, here.new, strict=True):
        rows = zip(ax.texts[1:-1:2], ax.patches, strict=True)  # between them stand the names
        shown = [(state.get_text(), bar.get_width()) for state, bar in rows if bar.get_visible()]
        assert sum(state.startswith("gone") for state, _ in shown) == gone.sum()
        assert sum(state.endswith("new") for state, _ in shown) == new.sum()
        assert sum(w for state, w in shown if not state.startswith("gone")) == pytest.approx(1.0)
    upper, lower = bounds.lines
    np.testing.assert_allclose(upper.get_ydata(), [each.primal for each in passes[:5]])
    np.testing.assert_allclose(lower.get_ydata(), [each.dual for each in passes[:5]])
    np.testing.assert_allclose(curve.lines[1].get_xdata(), here.eta)
    assert f"{(here.alpha > 0).sum()} of 81 labellings have dual variables above 0" in frame.summary
    assert f"of 6; primal {here.primal:.3f}, dual {here.dual:.3f}" in frame.summary
    assert f"now {here.primal:.3f} and {here.dual:.3f}" in frame.alt
    assert all(wall.get_visible() for wall in curve.patches)
    explorer.set(prior="Gaussian").frame()
    assert not any(wall.get_visible() for wall in curve.patches)


# -- Algorithm 1: one weight ----------------------------------------------------------------------


@pytest.mark.parametrize(("lam", "C"), [(4.0, 1.0), (9.0, 0.5), (2.0, 2.0)])
def test_majorants_lie_above_and_touch(lam, C):
    """The bound is the lowest of all, over q and variances; the least costs are where it is said."""
    frame = majorant_frame(KINDS[0], MOST_ITERATIONS, lam, C)
    variances = np.geomspace(0.02, 20, 4001)
    penalty = C * np.maximum(0, 1 - frame.w)
    best = [jensen_bound(np.full_like(variances, w), variances, lam).min() for w in frame.w]
    np.testing.assert_allclose(frame.bound, np.array(best) + penalty, atol=1e-5)
    assert np.abs(frame.w[frame.true.argmin()] - frame.exact) < 0.011
    assert np.abs(frame.w[frame.bound.argmin()] - frame.limit) < 0.011
    assert (np.diff(frame.bounds) <= 1e-12).all()
    for kind, lower in zip(KINDS, (frame.bound, frame.true), strict=True):
        for number in (1, 3, 8):
            here = majorant_frame(kind, number, lam, C)
            assert (here.parabola >= lower - 1e-9).all()
            assert abs(frame.w[here.parabola.argmin()] - here.means[-1]) < 0.011


def test_majorants_shows_the_frame():
    explorer = majorants().set(kind=KINDS[0], number=3, lam=4, C=1.0)
    frame = majorant_frame(KINDS[0], 3, 4.0, 1.0)
    assert f"mean {frame.means[-1]:.3f}, bound {frame.bounds[-1]:.3f}" in explorer.summary
    curves, means, costs = explorer.figure.axes
    drawn = {line.get_label(): line.get_ydata() for line in curves.lines}
    for line, values in (
        (drawn["true cost"], frame.true),
        (drawn["this iteration's parabola"], frame.parabola),
        (means.lines[0].get_ydata(), frame.means),
        (costs.lines[0].get_ydata(), frame.bounds),
        (costs.lines[1].get_ydata(), frame.costs),
    ):
        np.testing.assert_array_equal(line, values)
    with pytest.raises(ValueError, match="expected one of Algorithm 1"):
        majorant_frame("EM", 1, 4.0, 1.0)
    with pytest.raises(ValueError, match="expected 1 to 12"):
        majorant_frame(KINDS[0], 13, 4.0, 1.0)


# -- Algorithm 1: three words ---------------------------------------------------------------------


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


def test_variational_shows_the_trail():
    explorer, trail = variational().set(number=4, lam=9), variational_trail(9)
    assert f"bound {trail.bounds[3]:.2f}, true cost {trail.costs[3]:.2f}" in explorer.summary
    means, costs, variances, _ = explorer.figure.axes
    dots = next(line for line in means.lines if line.get_label() == "Algorithm 1")
    np.testing.assert_array_equal(dots.get_ydata(), trail.means[3])
    ghost = next(c for c in means.collections if c.get_label() == "exact solution")
    heights = [segment[1, 1] for segment in ghost.get_segments()]
    np.testing.assert_array_equal(heights, trail.exact_means)
    np.testing.assert_array_equal(variances.lines[0].get_ydata(), trail.variances[3])
    np.testing.assert_array_equal(costs.lines[0].get_ydata(), trail.bounds[:4])
    assert [text.get_text() for text in means.get_xticklabels()] == list(trail.names)
