"""The explorer of Frank-Wolfe steps shows the solver's own passes; its lessons can fail."""

from __future__ import annotations

import numpy as np
import pytest

from medn_edu.explorers import frank_wolfe
from medn_edu.explorers.frank_wolfe import (
    N_PASSES,
    PRICES,
    PRIORS,
    frank_wolfe_passes,
    word_problem,
)
from medn_edu.slacks import LinearSlack
from medn_edu.theory import enumerate_problem, solve_dual

LAPLACE = "Laplace, λ = 36"


@pytest.fixture(scope="module")
def explorer():
    return frank_wolfe()


def test_lessons_can_fail(explorer):
    come_and_go, stays_inside, jumps, more_rounds, spends_all = explorer.lessons
    assert not come_and_go.holds(0, LAPLACE, 3.0, False)
    assert not stays_inside.holds(8, "Laplace, λ = 4", 0.3, False)
    assert not jumps.holds(3, "Gaussian", 0.3, False)
    assert not more_rounds.holds(6, LAPLACE, 3.0, False)
    assert not more_rounds.holds(1, LAPLACE, 3.0, True)
    assert not spends_all.holds(N_PASSES, LAPLACE, 3.0, False)


@pytest.mark.parametrize("prior", PRIORS)
def test_passes_end_at_the_optimum_of_another_solver(prior):
    for C in PRICES:
        data = word_problem(PRIORS[prior], C).data
        best = solve_dual(enumerate_problem(data, PRIORS[prior], LinearSlack(C))).value
        for each in frank_wolfe_passes(prior, C, True):
            assert each.dual - 1e-6 <= best <= each.primal + 1e-6
            np.testing.assert_allclose(each.alpha.sum(axis=1), C)
            assert not (each.gone & (each.alpha > 0)).any()
            assert (each.alpha[each.new] > 0).all()
            np.testing.assert_allclose(each.weights, PRIORS[prior].mean(each.eta), atol=1e-9)
        assert each.dual == pytest.approx(best, rel=1e-5)


def test_the_start_is_the_problem_at_the_priors_mean():
    start = frank_wolfe_passes(LAPLACE, 3.0, False)[0]
    assert start.primal == word_problem(PRIORS[LAPLACE], 3.0).primal(np.zeros(18)) == 27.0
    assert (start.dual, start.relative_gap, start.count) == (0.0, 1.0, 3)


def test_the_figure_and_its_words_show_the_pass(explorer):
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
    explorer.set(prior="Gaussian", C=0.3, passes=N_PASSES).frame()
    assert not any(wall.get_visible() for wall in curve.patches)
