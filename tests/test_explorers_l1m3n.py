"""Explorers of L1-M3N: projections are nearest, rounds and path are those of the algorithms."""

import itertools

import numpy as np
import pytest

from medn_edu.explorers import l1_path, new_figure, projections, working_sets
from medn_edu.explorers.l1_path import LAST, draw_sorted_weights, l1_path_frames
from medn_edu.explorers.projections import projection_frame
from medn_edu.explorers.working_sets import (
    HIGH,
    LOW,
    MOST_ROWS,
    PRICES,
    cost,
    cutting_plane_rounds,
    labellings,
    two_word_problem,
)
from medn_edu.priors import GaussianPrior
from medn_edu.theory import enumerate_problem, solve_l1m3n

# -- projections ----------------------------------------------------------------------------------


def test_a_coordinate_vanishes_in_the_shaded_wedges_and_nowhere_else():
    for angle, distance in itertools.product(range(0, 361, 15), np.arange(0.1, 2.05, 0.1)):
        frame = projection_frame(angle, distance)
        size = np.abs(frame.point)
        small = size.min()
        assert bool(frame.zeros) == (small > 0 and size.max() - small >= 1), (angle, distance)
        if frame.zeros:
            assert frame.theta >= small
        assert frame.inside == (size.sum() <= 1 + 1e-12)
        assert np.allclose(np.abs(frame.on_l1), np.maximum(size - frame.theta, 0))


def test_projections_shows_the_frame():
    explorer, frame = projections().set(angle=15, distance=1.8), projection_frame(15, 1.8)
    explorer.frame()
    left, right = explorer.figure.axes
    lines = {line.get_label(): line for line in left.lines}
    points = {
        "the point": frame.point,
        "on the L1 ball": frame.on_l1,
        "on the L2 ball": frame.on_l2,
    }
    for name, point in points.items():
        assert lines[name].get_xydata().tolist() == [point.tolist()]
    assert {f"θ = {frame.theta:.2f}", "0"} <= {text.get_text() for text in right.texts}
    tops = [bar.get_y() + bar.get_height() for bar in right.patches]
    assert max(tops) == pytest.approx(np.abs(frame.point).max())
    assert len({lines[name].get_marker() for name in points}) == 3, "told apart without colour"
    for angle, distance, said in (
        (80, 2.0, "threshold θ = 0.97, w₁ becomes exactly 0"),
        (45, 0.5, "contains it (θ = 0); L2 projection (0.35, 0.35), where it is."),
        (180, 1.5, "no coordinate becomes 0"),  # it was 0 already
    ):
        assert said in explorer.set(angle=angle, distance=distance).summary
    assert "(0.00, 1.00)" in explorer.set(angle=80, distance=2.0).frame().alt
    once_around = [explorer.set(angle=angle).frame().png for angle in (0, 180, 360)]
    assert once_around[0] == once_around[2] != once_around[1]


# -- working sets ---------------------------------------------------------------------------------


@pytest.mark.parametrize("C", PRICES)
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
        assert before.lower <= here.lower + 1e-9
        assert here.lower <= best + 1e-9
        assert best <= here.upper + 1e-9
        assert here.upper <= before.upper
        assert not (here.new & ~here.kept).any()
        assert not here.alpha[~here.kept & (every.losses > 0)].any()
        assert np.bincount(every.sample, here.alpha).max() <= C * (1 + 1e-9)
    assert rounds[-1].gap == 0
    assert rounds[-1].cost == pytest.approx(best)
    ever = np.any([each.new for each in rounds], axis=0)
    assert np.bincount(every.sample[ever], minlength=2).max() <= MOST_ROWS
    assert all(((each.weights > LOW) & (each.weights < HIGH)).all() for each in rounds)


def test_working_sets_shows_the_round():
    explorer, every, rounds = working_sets(), labellings(), cutting_plane_rounds(0.6)
    plane, bounds, sets = explorer.figure.axes
    rows = np.array(sets.patches).reshape(2, MOST_ROWS, -1)  # boxes, then the bar
    way = next(line for line in plane.lines if line.get_marker() == "o")
    for number in (1, len(rounds) - 1, 0):
        here = rounds[number]
        explorer.set(rounds=number, C=0.6).frame()
        ever = np.any([each.new for each in rounds[: number + 1]], axis=0)
        for i in (0, 1):
            shown = sum(boxes[0].get_visible() for boxes in rows[i])
            assert shown == np.sum(ever & (every.sample == i))
        widths = sum(bar.get_width() for bar in rows[..., -1].flat)
        assert widths == pytest.approx(4 * here.alpha[every.losses > 0].sum())
        assert way.get_xydata()[-1].tolist() == here.weights.tolist()
        assert [line.get_ydata()[-1] for line in bounds.lines] == [here.upper, here.lower]
        known = f"lower bound {here.lower:.3f}, upper bound {here.upper:.3f}, "
        assert f"{here.kept.sum()} of 62 labellings" in explorer.summary
        assert known in explorer.summary
    assert plane.images[0].get_array().max() > 0.9, "without rows everything is missed"
    explorer.set(rounds=explorer.controls["rounds"].values[-1], C=0.05)
    assert "weights (0.00, 0.00)" in explorer.summary
    assert explorer.summary.endswith("the optimum. The method ended with round 1.")
    assert "bounds 0.500 and 0.500 after round 1" in explorer.frame().alt


# -- the path -------------------------------------------------------------------------------------


@pytest.mark.parametrize("C", [0.02, 0.05, 0.1])
def test_the_path_holds_its_promises(C):
    *frames, clean = l1_path_frames(C)
    assert (clean.where, clean.gap) == ("after the clean-up", 0)
    assert clean.zeros > 0
    for before, here in itertools.pairwise([*frames, clean]):
        assert before.lam < here.lam
        assert here.dual <= clean.primal + 1e-9
        assert clean.primal <= here.primal + 1e-9
        assert np.all(clean.weights <= here.bounds * (1 + 1e-9) + 1e-12)
    for frame in frames:
        assert not frame.eta[frame.weights == 0].any(), "0 only where nothing speaks for it"
        assert frame.eta.max() < 0.5
        mean = 2 * frame.eta * 2 / np.sqrt(frame.lam) / (1 - 4 * frame.eta**2)
        assert np.allclose(frame.weights, mean, rtol=1e-3, atol=1e-6), "Corollary 7"


def test_l1_path_shows_the_step():
    explorer = l1_path()
    top, bottom = explorer.figure.axes
    dots = [line for line in top.lines if line.get_marker() in ("o", "s", "^")]
    assert len({line.get_marker() for line in dots}) == 3
    places = [round(bar.get_x() + bar.get_width() / 2, 9) for bar in bottom.patches]
    for step in (2, LAST):
        frame = l1_path_frames(0.05)[step]
        said = explorer.set(step=step, C=0.05).summary
        assert (
            f"{frame.zeros} exactly 0; cost {frame.primal:.3f}, dual value {frame.dual:.3f}" in said
        )
        assert [bar.get_height() for bar in bottom.patches] == frame.eta.tolist()
        hollow = [line for line in dots if line.get_markerfacecolor() == "white"]
        assert sum(len(line.get_xdata()) for line in hollow) == frame.zeros
        assert {x for line in dots for x in line.get_xdata().round(9)} == set(places)
        solid = np.concatenate([line.get_ydata() for line in dots if line not in hollow])
        assert np.allclose(solid, np.clip(frame.weights[frame.weights > 0], 1e-5, 4))
        title = f"{frame.primal:.3f} ≥ optimum ≥ {frame.dual:.3f}"
        assert title in top.get_title(loc="left")
    assert "after the clean-up" in said
    assert said.endswith("no gap.")
    assert "at the line of one half" in explorer.frame().alt


def test_sorted_weights_say_how_many_are_zero():
    ax = new_figure().add_subplot()
    found = {"few": np.array([0.0, -2.0, 0.0]), "many": np.array([1e-9, 0.5, 0.1])}
    draw_sorted_weights(ax, found)
    names = ["few: 2 of 3 exactly 0", "many: 0 of 3 exactly 0"]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == names
    few, many = (line for line in ax.lines if line.get_label() in names)
    assert few.get_ydata()[0] == 2.0
    assert few.get_ydata()[1] < many.get_ydata()[2] == 1e-5, "a small weight is not drawn as 0"
    assert few.get_marker() != many.get_marker()
