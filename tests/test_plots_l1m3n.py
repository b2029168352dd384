"""The figures of L1-M3N: projections, working sets and the path show what the algorithms did."""

from __future__ import annotations

import itertools
import sys

import numpy as np
import pytest

from medn_edu.explorers import new_figure
from medn_edu.explorers.l1_path import PRICES as PATH_PRICES
from medn_edu.explorers.l1_path import WeightsOnPath, draw_sorted_weights, l1_path_frames
from medn_edu.explorers.projections import Projections, projection_frame
from medn_edu.explorers.working_sets import (
    PRICES,
    WorkingSets,
    cutting_plane_rounds,
    two_word_problem,
)
from medn_edu.priors import GaussianPrior
from medn_edu.theory import enumerate_problem, solve_l1m3n

working_sets = sys.modules["medn_edu.explorers.working_sets"]  # the function has the same name


@pytest.mark.parametrize("angle", range(0, 360, 40))
@pytest.mark.parametrize("distance", [0.6, 0.9, 1.3, 2.0])
def test_projections_are_the_nearest_points(angle, distance):
    """No point of a fine grid of each ball is nearer."""
    frame = projection_frame(angle, distance)
    turn = np.linspace(0, 2 * np.pi, 721)
    circle = np.column_stack([np.cos(turn), np.sin(turn)])
    diamond = circle / np.abs(circle).sum(axis=1, keepdims=True)
    for ball, nearest in ((circle, frame.on_l2), (diamond, frame.on_l1)):
        inside = np.vstack([share * ball for share in np.linspace(0, 1, 21)])
        away = np.linalg.norm(inside - frame.point, axis=1).min()
        assert np.linalg.norm(nearest - frame.point) <= away + 1e-12
    assert np.abs(frame.on_l1).sum() <= 1 + 1e-12
    assert np.linalg.norm(frame.on_l2) <= 1 + 1e-12


@pytest.mark.parametrize("angle", range(0, 361, 15))
def test_a_coordinate_vanishes_in_the_shaded_wedges_and_nowhere_else(angle):
    for distance in np.arange(0.1, 2.05, 0.1):
        frame = projection_frame(angle, distance)
        size = np.abs(frame.point)
        small = size.min()
        wedge = small > 0 and size.max() - small >= 1
        assert bool(frame.zeros) == wedge
        if frame.zeros:
            assert frame.theta >= small
        assert frame.inside == (size.sum() <= 1 + 1e-12)
        assert np.allclose(np.abs(frame.on_l1), np.maximum(size - frame.theta, 0))


def test_the_figure_shows_the_projections():
    drawn = Projections()
    frame = projection_frame(15, 1.8)
    drawn.show(frame)
    left, right = drawn.figure.axes
    lines = {line.get_label(): line for line in left.lines}
    for name, point in (
        ("the point", frame.point),
        ("on the L1 ball", frame.on_l1),
        ("on the L2 ball", frame.on_l2),
    ):
        assert lines[name].get_xydata().tolist() == [point.tolist()]
    texts = [text.get_text() for text in right.texts]
    assert f"θ = {frame.theta:.2f}" in texts
    assert "0" in texts
    tops = [bar.get_y() + bar.get_height() for bar in right.patches]
    assert max(tops) == pytest.approx(np.abs(frame.point).max())
    markers = {lines[name].get_marker() for name in lines if not name.startswith("_")}
    assert len(markers) == 3, "told apart without colour"


# -- working sets ---------------------------------------------------------------------------------


def outright(problem):
    return solve_l1m3n(enumerate_problem(problem.data, GaussianPrior(), problem.loss.slack))


def test_the_plane_shows_the_problems_cost():
    planes, rng = working_sets._planes(), np.random.default_rng(0)
    every = np.ones(len(planes.losses), dtype=bool)
    for C in PRICES:
        problem = two_word_problem(C)
        for at in rng.normal(size=(5, 2)):
            weights = np.concatenate([np.zeros(2), at, np.zeros(4)])
            assert planes.cost(C, at, every) == pytest.approx(problem.primal(weights))


@pytest.mark.parametrize("C", PRICES)
def test_rounds_are_those_of_the_solver(C):
    """Each solution costs, by the working sets shown, what the linear program said it would."""
    best, planes, rounds = outright(two_word_problem(C)), working_sets._planes(), []
    for before, here in itertools.pairwise(cutting_plane_rounds(C)):
        assert planes.cost(C, here.weights, here.kept) == pytest.approx(here.lower)
        assert before.lower <= here.lower + 1e-9
        assert here.lower <= best.value + 1e-9
        assert best.value <= here.upper + 1e-9
        assert here.upper <= before.upper
        assert not (here.new & ~here.kept).any()
        assert not here.alpha[~here.kept & (planes.losses > 0)].any()
        assert np.bincount(planes.sample, here.alpha).max() <= C * (1 + 1e-9)
        rounds.append(here)
    assert rounds[-1].gap == 0
    assert rounds[-1].cost == pytest.approx(best.value)


def test_the_figure_shows_the_working_sets():
    drawn = WorkingSets()
    planes, rounds = working_sets._planes(), cutting_plane_rounds(1.0)
    for number in (2, len(rounds) - 1, 0):
        here = rounds[number]
        drawn.show(1.0, number)
        for i in (0, 1):
            shown = [boxes for boxes, _ in drawn._rows[i] if boxes[0].get_visible()]
            ever = np.any([each.new for each in rounds[: number + 1]], axis=0)
            assert len(shown) == np.sum(ever & (planes.sample == i))
        widths = sum(bar.get_width() for rows in drawn._rows for _, bar in rows)
        assert widths == pytest.approx(2.4 * here.alpha[planes.losses > 0].sum())
        assert drawn._way.get_xydata()[-1].tolist() == here.weights.tolist()
        assert drawn._lower.get_ydata()[-1] == here.lower
        assert drawn._upper.get_ydata()[-1] == here.upper
    assert drawn._image.get_array().max() > 0.9, "without rows everything is missed"


def test_every_round_of_every_price_has_room_in_the_figure():
    for C in PRICES:
        rounds = cutting_plane_rounds(C)
        ever = np.any([each.new for each in rounds], axis=0)
        most = np.bincount(working_sets._planes().sample[ever], minlength=2).max()
        assert most <= working_sets._MOST_ROWS
        for each in rounds:
            assert np.all((each.weights > working_sets._LOW) & (each.weights < working_sets._HIGH))


# -- the path -------------------------------------------------------------------------------------


@pytest.mark.parametrize("C", PATH_PRICES)
def test_the_path_holds_its_promises(C):
    frames = l1_path_frames(C)
    clean = frames[-1]
    assert clean.is_clean
    assert clean.gap == 0
    assert clean.zeros > 0
    for before, here in itertools.pairwise(frames):
        assert before.lam < here.lam
        assert here.dual <= clean.primal + 1e-9
        assert clean.primal <= here.primal + 1e-9
        assert np.all(clean.weights <= here.bounds * (1 + 1e-9) + 1e-12)
    for frame in frames[:-1]:
        assert not frame.eta[frame.weights == 0].any(), "0 only where nothing speaks for it"
        assert frame.eta.max() < 0.5
        mean = 2 * frame.eta * 2 / np.sqrt(frame.lam) / (1 - 4 * frame.eta**2)
        assert np.allclose(frame.weights, mean, rtol=1e-3, atol=1e-6), "Corollary 7"


def test_the_figure_shows_the_path():
    drawn = WeightsOnPath()
    frames = l1_path_frames(0.05)
    for frame in (frames[2], frames[-1]):
        drawn.show(frame)
        assert [bar.get_height() for bar in drawn._bars] == frame.eta.tolist()
        hollow = sum(len(line.get_xdata()) for line in drawn._gone.values())
        solid = np.concatenate([line.get_ydata() for line in drawn._dots.values()])
        assert hollow == frame.zeros
        assert np.allclose(solid, np.clip(frame.weights[frame.weights > 0], 1e-5, 4))
        assert f"{frame.primal:.3f} ≥ optimum ≥ {frame.dual:.3f}" in drawn._title.get_text()
    assert len({line.get_marker() for line in drawn._dots.values()}) == 3


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
