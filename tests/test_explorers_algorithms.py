"""Explorers of MEDN's and L1-M3N's algorithms show the solvers' own steps, up to the optimum."""

import itertools

import numpy as np
import pytest

from medn_edu import LaplaceMEDN, explorers
from medn_edu.explorers.frank_wolfe import PRICES, PRIORS, frank_wolfe_passes
from medn_edu.explorers.l1_path import LAST, draw_sorted_weights, l1_path_frames
from medn_edu.explorers.majorants import KINDS, LATE, MOST_ITERATIONS, majorant_frame
from medn_edu.explorers.projections import projection_frame
from medn_edu.explorers.variational import variational_trail
from medn_edu.explorers.working_sets import (
    HIGH,
    LOW,
    MOST_ROWS,
    cost,
    cutting_plane_rounds,
    labellings,
    two_word_problem,
)
from medn_edu.explorers.working_sets import PRICES as SET_PRICES
from medn_edu.priors import GaussianPrior
from medn_edu.slacks import LinearSlack
from medn_edu.theory import enumerate_problem, solve_dual, solve_l1m3n
from medn_edu.theory.axi import WORDS, axi_samples
from medn_edu.theory.laplace import jensen_bound


def labelled(artists):
    return {artist.get_label(): artist for artist in artists}


@pytest.mark.parametrize("prior", PRIORS)
def test_passes_end_at_the_optimum_of_another_solver(prior):
    for C in PRICES:
        problem = enumerate_problem(axi_samples(), PRIORS[prior], LinearSlack(C))
        best = solve_dual(problem).value
        start, *passes = frank_wolfe_passes(prior, C, True)
        assert (start.dual, start.relative_gap, start.count) == (0.0, 1.0, 3)
        assert start.primal == pytest.approx(problem.primal_value(start.weights))
        for before, each in itertools.pairwise([start, *passes]):
            assert each.dual - 1e-6 <= best <= each.primal + 1e-6
            np.testing.assert_allclose(each.alpha.sum(axis=1), C)
            assert not (each.gone & (each.alpha > 0)).any()
            assert (each.new == (each.alpha > 0) & (before.alpha == 0)).all()
            mean = problem.posterior_mean(each.alpha.ravel())
            np.testing.assert_allclose(each.weights, mean, atol=1e-9)
        assert each.dual == pytest.approx(best, rel=1e-5)


def test_frank_wolfe_shows_the_pass():
    setting = {"prior": "Laplace, λ = 36", "C": 3.0, "cached": False}
    explorer, passes = explorers.frank_wolfe(), frank_wolfe_passes(*setting.values())
    said, here = explorer.set(passes=4, **setting).summary, passes[4]
    *words, bounds, _, curve = explorer.figure.axes
    for ax, gone, new in zip(words, here.gone, here.new, strict=True):
        rows = zip(ax.texts[1:-1:2], ax.patches, strict=True)  # between them stand the names
        shown = [(state.get_text(), bar.get_width()) for state, bar in rows if bar.get_visible()]
        assert sum(state.startswith("gone") for state, _ in shown) == gone.sum()
        assert sum(state.endswith("new") for state, _ in shown) == new.sum()
        assert sum(w for state, w in shown if not state.startswith("gone")) == pytest.approx(1.0)
    primal, dual = ([getattr(p, side) for p in passes[:5]] for side in ("primal", "dual"))
    *lines, arrows = bounds.lines
    np.testing.assert_allclose([line.get_ydata() for line in lines], [primal, dual])
    assert len(arrows.get_xdata()) == 0
    np.testing.assert_allclose(curve.lines[1].get_xdata(), here.eta)
    assert f"{(here.alpha > 0).sum()} of 81 labellings have dual variables above 0" in said
    assert f"of 6; primal {here.primal:.3f}, dual {here.dual:.3f}" in said
    assert all(wall.get_visible() for wall in curve.patches)
    explorer.set(prior="Gaussian").frame()
    assert not any(wall.get_visible() for wall in curve.patches)
    assert list(arrows.get_xdata()) == list(range(5)), "primal values above the panel"
    assert (bounds.lines[0].get_ydata() > bounds.get_ylim()[1]).all()


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
    explorer = explorers.majorants().set(kind=KINDS[0], number=LATE - 1, lam=2, C=0.5)
    frame = majorant_frame(KINDS[0], LATE - 1, 2.0, 0.5)
    assert f"mean {frame.means[-1]:.3f}, bound {frame.bounds[-1]:.3f}" in explorer.summary
    curves, means, costs = explorer.figure.axes
    assert f"{frame.limit:.3f}" not in explorer.frame().alt, "this is what learners predict"
    assert not any("bound" in text.get_text() for text in means.texts if text.get_visible())
    drawn = labelled(curves.lines)
    for line, values in (
        (drawn["true cost"], frame.true),
        (drawn["parabola"], frame.parabola),
        (means.lines[0], frame.means),
        (costs.lines[0], frame.bounds),
        (costs.lines[1], frame.costs),
    ):
        np.testing.assert_array_equal(line.get_ydata(), values)
    late = explorer.set(number=LATE).frame()
    assert f"above it the bound, least at {frame.limit:.3f}, and" in late.alt
    assert means.texts[1].get_visible()
    assert means.texts[1].get_text() == f"least bound {frame.limit:.2f}"
    for kind, number, said in (("EM", 1, "one of Algorithm 1"), (KINDS[0], 13, "expected 1 to 12")):
        with pytest.raises(ValueError, match=said):
            majorant_frame(kind, number, 4.0, 1.0)


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
    explorer, trail = explorers.variational().set(number=4, lam=9), variational_trail(9)
    assert f"bound {trail.bounds[3]:.2f}, true cost {trail.costs[3]:.2f}" in explorer.summary
    means, costs, variances, _ = explorer.figure.axes
    ghost = labelled(means.collections)["exact solution"]
    for shown, values in (
        (labelled(means.lines)["Algorithm 1"].get_ydata(), trail.means[3]),
        ([segment[1, 1] for segment in ghost.get_segments()], trail.exact_means),
        (variances.lines[0].get_ydata(), trail.variances[3]),
        ([line.get_ydata()[0] for line in variances.lines[1:]], [2 / 9, 1 / 9]),
        (costs.lines[0].get_ydata(), trail.bounds[:4]),
        ([text.get_text() for text in means.get_xticklabels()], trail.names),
    ):
        np.testing.assert_array_equal(shown, values)


def test_a_coordinate_vanishes_in_the_shaded_wedges_and_nowhere_else():
    for angle, distance in itertools.product(range(0, 361, 15), np.arange(0.1, 2.05, 0.1)):
        frame = projection_frame(angle, distance)
        size = np.abs(frame.point)
        small = size.min()
        assert bool(frame.zeros) == (small > 0 and size.max() - small >= 1), (angle, distance)
        assert np.allclose(np.abs(frame.on_l1), np.maximum(size - frame.theta, 0))
        assert frame.inside == (size.sum() <= 1 + 1e-12)


def test_projections_shows_the_frame():
    explorer, frame = explorers.projections().set(angle=15, distance=1.8), projection_frame(15, 1.8)
    explorer.frame()
    left, right = explorer.figure.axes
    lines, names = labelled(left.lines), ("the point", "on the L1 ball", "on the L2 ball")
    shown = [lines[name].get_xydata()[0].tolist() for name in names]
    assert shown == np.array([frame.point, frame.on_l1, frame.on_l2]).tolist()
    assert len({lines[name].get_marker() for name in names}) == 3, "told apart without colour"
    assert {f"θ = {frame.theta:.2f}", "0"} <= {text.get_text() for text in right.texts}
    tops = [bar.get_y() + bar.get_height() for bar in right.patches]
    assert max(tops) == pytest.approx(np.abs(frame.point).max())
    taken = [bar.get_height() for bar in right.patches[:2]]
    assert taken == pytest.approx(np.minimum(np.abs(frame.point), frame.theta))
    for angle, distance, said in (
        (80, 2.0, "threshold θ = 0.97, and w₁ becomes exactly 0"),
        (
            45,
            0.5,
            "already inside (θ = 0). Nearest on the L2 ball: (0.35, 0.35), because it's already inside.",
        ),
        (180, 1.5, "w₂ stays 0"),
    ):
        assert said in explorer.set(angle=angle, distance=distance).summary


@pytest.mark.parametrize("C", SET_PRICES)
def test_rounds_are_those_of_the_solver_and_have_room_in_the_figure(C):
    """Each solution costs, by the working sets shown, what the linear program said it would."""
    problem, every, rounds = two_word_problem(C), labellings(), cutting_plane_rounds(C)
    best = solve_l1m3n(enumerate_problem(problem.data, GaussianPrior(), problem.loss.slack)).value
    for at in np.random.default_rng(0).normal(size=(5, 2)):
        weights = np.concatenate([np.zeros(2), at, np.zeros(4)])
        shown = cost(C, at, np.ones(len(every.losses), dtype=bool))
        assert shown == pytest.approx(problem.primal(weights))
    for before, here in itertools.pairwise(rounds):
        assert cost(C, here.weights, here.kept) == pytest.approx(here.lower)
        assert before.lower - 1e-9 <= here.lower <= best + 1e-9
        assert best - 1e-9 <= here.upper <= before.upper
        assert not (here.new & ~here.kept).any()
        assert not here.alpha[~here.kept & (every.losses > 0)].any()
        assert np.bincount(every.sample, here.alpha).max() <= C * (1 + 1e-9)
    assert rounds[-1].gap == 0
    assert rounds[-1].cost == pytest.approx(best)
    ever = np.any([each.new for each in rounds], axis=0)
    assert np.bincount(every.sample[ever], minlength=2).max() <= MOST_ROWS
    assert all(((each.weights > LOW) & (each.weights < HIGH)).all() for each in rounds)


def test_working_sets_shows_the_round():
    explorer, every, rounds = explorers.working_sets(), labellings(), cutting_plane_rounds(0.6)
    plane, bounds, sets = explorer.figure.axes
    rows = np.array(sets.patches).reshape(2, MOST_ROWS, -1)  # boxes, then the bar
    way = next(line for line in plane.lines if line.get_marker() == "o")
    for number in (1, len(rounds) - 1, 0):
        here = rounds[number]
        said = explorer.set(rounds=number, C=0.6).summary
        ever = np.any([each.new for each in rounds[: number + 1]], axis=0)
        for i in (0, 1):
            shown = sum(boxes[0].get_visible() for boxes in rows[i])
            assert shown == np.sum(ever & (every.sample == i))
        widths = sum(bar.get_width() for bar in rows[..., -1].flat)
        alpha = here.alpha[(every.losses > 0) & (here.alpha > 0)]
        assert widths == pytest.approx(np.maximum(4 * alpha, 0.3).sum())  # each can be seen
        assert way.get_xydata()[-1].tolist() == here.weights.tolist()
        assert [line.get_ydata()[-1] for line in bounds.lines] == [here.upper, here.lower]
        assert f"{here.kept.sum()} of 62 labellings" in said
        assert f"Lower bound {here.lower:.3f}, upper bound {here.upper:.3f}, " in said
    assert plane.images[0].get_array().max() > 0.9, "without rows everything is missed"
    said = explorer.set(rounds=explorer.controls["rounds"].values[-1], C=0.05).summary
    assert "weights (0.00, 0.00)" in said
    assert said.endswith("so this is the optimum. The method ended with round 1.")


@pytest.mark.parametrize("C", [0.02, 0.05, 0.1])
def test_the_path_holds_its_promises(C):
    *frames, clean = l1_path_frames(C)
    assert (clean.where, clean.gap) == ("after the clean-up", 0)
    assert clean.zeros > 0
    for before, here in itertools.pairwise([*frames, clean]):
        assert before.lam < here.lam
        assert here.dual - 1e-9 <= clean.primal <= here.primal + 1e-9
        assert np.all(clean.weights <= here.bounds * (1 + 1e-9) + 1e-12)
    for frame in frames:
        assert not frame.eta[frame.weights == 0].any(), "0 only where nothing speaks for it"
        assert frame.eta.max() < 0.5
        mean = 2 * frame.eta * 2 / np.sqrt(frame.lam) / (1 - 4 * frame.eta**2)
        assert np.allclose(frame.weights, mean, rtol=1e-3, atol=1e-6), "Corollary 7"


def test_l1_path_shows_the_step():
    explorer = explorers.l1_path()
    top, bottom = explorer.figure.axes
    dots = [line for line in top.lines if line.get_marker() in ("o", "s", "^")]
    assert len({line.get_marker() for line in dots}) == 3
    places = {round(bar.get_x() + bar.get_width() / 2, 9) for bar in bottom.patches}
    for step in (2, LAST):
        frame = l1_path_frames(0.05)[step]
        said = explorer.set(step=step, C=0.05).summary
        assert (
            f"{frame.zeros} are exactly 0. The cost is {frame.primal:.3f}, the dual value" in said
        )
        assert [bar.get_height() for bar in bottom.patches] == frame.eta.tolist()
        hollow = [line for line in dots if line.get_markerfacecolor() == "white"]
        assert sum(len(line.get_xdata()) for line in hollow) == frame.zeros
        assert {x for line in dots for x in line.get_xdata().round(9)} == places
        solid = np.concatenate([line.get_ydata() for line in dots if line not in hollow])
        assert np.allclose(solid, np.clip(frame.weights[frame.weights > 0], 1e-5, 4))
        title = f"{frame.primal:.3f} ≥ optimum ≥ {frame.dual:.3f}"
        assert title in top.get_title(loc="left")
        assert f"transitions {frame.weights[27:].max():.2g};" in explorer.frame().alt
    assert "after the clean-up" in said
    assert said.endswith("no gap.")


def test_sorted_weights_say_how_many_are_zero():
    ax = explorers.new_figure().add_subplot()
    found = {"few": np.array([0.0, -2.0, 0.0]), "many": np.array([1e-9, 0.5, 0.1])}
    draw_sorted_weights(ax, found)
    assert [text.get_text() for text in ax.texts] == ["few\n2 of 3\nare 0", "many\n0 of 3\nare 0"]
    few, many = (labelled(ax.lines)[name] for name in found)
    assert few.get_ydata()[0] == 2.0
    assert few.get_ydata()[1] < many.get_ydata()[2] == 1e-5, "a small weight is not drawn as 0"
    assert few.get_marker() != many.get_marker()
