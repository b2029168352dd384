"""The explorer of Frank-Wolfe steps shows the solver's own passes; its lessons can fail."""

from __future__ import annotations

import numpy as np
import pytest

from medn_edu.explorers import frank_wolfe
from medn_edu.explorers.frank_wolfe import (
    FW_PRICES,
    FW_PRIORS,
    N_PASSES,
    FrankWolfe,
    frank_wolfe_passes,
    word_problem,
)
from medn_edu.slacks import LinearSlack
from medn_edu.theory import enumerate_problem, solve_dual

LAPLACE = "Laplace, λ = 36"


@pytest.fixture(scope="module")
def explorer():
    return frank_wolfe()


def test_lessons(explorer):
    for lesson in explorer.lessons:
        assert explorer.check(lesson), lesson.fact


def test_lessons_can_fail(explorer):
    come_and_go, stays_inside, jumps, more_rounds, spends_all = explorer.lessons
    assert not come_and_go.holds(0, LAPLACE, 3.0, False)
    assert not stays_inside.holds(8, "Laplace, λ = 4", 0.3, False)
    assert not jumps.holds(3, "Gaussian", 0.3, False)
    assert not more_rounds.holds(6, LAPLACE, 3.0, False)
    assert not more_rounds.holds(1, LAPLACE, 3.0, True)
    assert not spends_all.holds(N_PASSES, LAPLACE, 3.0, False)


@pytest.mark.parametrize("prior", FW_PRIORS)
@pytest.mark.parametrize("C", FW_PRICES)
def test_passes_end_at_the_optimum_of_another_solver(prior, C):
    data = word_problem(FW_PRIORS[prior], C).data
    best = solve_dual(enumerate_problem(data, FW_PRIORS[prior], LinearSlack(C))).value
    for each in frank_wolfe_passes(prior, C, True):
        assert each.dual - 1e-6 <= best <= each.primal + 1e-6
        np.testing.assert_allclose(each.alpha.sum(axis=1), C)
        assert not (each.gone & (each.alpha > 0)).any()
        assert (each.alpha[each.new] > 0).all()
        np.testing.assert_allclose(each.weights, FW_PRIORS[prior].mean(each.eta), atol=1e-9)
    assert each.dual == pytest.approx(best, rel=1e-5)


def test_the_start_is_the_problem_at_the_priors_mean():
    start = frank_wolfe_passes(LAPLACE, 3.0, False)[0]
    assert start.primal == word_problem(FW_PRIORS[LAPLACE], 3.0).primal(np.zeros(18)) == 27.0
    assert (start.dual, start.relative_gap, (start.alpha > 0).sum()) == (0.0, 1.0, 3)


def test_the_figure_shows_the_pass():
    drawn = FrankWolfe()
    drawn.show(LAPLACE, 3.0, False, 4)
    passes = frank_wolfe_passes(LAPLACE, 3.0, False)
    here = passes[4]
    for i, word in enumerate(drawn._words):
        shown = [k for k, bar in enumerate(word.bars) if bar.get_visible()]
        gone = [k for k in shown if word.states[k].get_text().startswith("gone")]
        new = [k for k in shown if word.states[k].get_text().endswith("new")]
        assert len(gone) == here.gone[i].sum()
        assert len(new) == here.new[i].sum()
        widths = [word.bars[k].get_width() for k in shown if k not in gone]
        assert sum(widths) == pytest.approx(1.0)
    np.testing.assert_allclose(drawn._upper.get_ydata(), [each.primal for each in passes[:5]])
    np.testing.assert_allclose(drawn._lower.get_ydata(), [each.dual for each in passes[:5]])
    np.testing.assert_allclose(drawn._weights.get_xdata(), here.eta)
    drawn.show("Gaussian", 0.3, False, N_PASSES)
    assert not any(wall.get_visible() for wall in drawn._walls)


def test_summary_and_alternative_text(explorer):
    frame = explorer.set(passes=4, prior=LAPLACE, C=3.0, cached=False).frame()
    here = frank_wolfe_passes(LAPLACE, 3.0, False)[4]
    assert f"{(here.alpha > 0).sum()} of 81 labellings have dual variables above 0" in frame.summary
    assert f"primal {here.primal:.3f}, dual {here.dual:.3f}" in frame.summary
    assert f"now {here.primal:.3f} and {here.dual:.3f}" in frame.alt
    assert "of 6;" in frame.summary
    with pytest.raises(ValueError, match="no control"):
        explorer.set(lam=3)
    with pytest.raises(ValueError, match="Laplace"):
        explorer.set(prior="Student")


def test_each_step_has_its_own_picture_and_sentence(explorer):
    start = {key: control.start for key, control in explorer.controls.items()}
    seen = {explorer.frame(start).png: explorer.frame(start).summary}
    for key, control in explorer.controls.items():
        step = 1 if control.start + 1 < len(control.values) else -1
        frame = explorer.frame({**start, key: control.start + step})
        assert frame.png not in seen
        assert frame.summary not in seen.values()
        seen[frame.png] = frame.summary
    assert explorer.controls["passes"].kind == "time"
