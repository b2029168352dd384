"""The explorers of L1-M3N: their lessons hold, can fail, and are what the summaries say."""

from __future__ import annotations

import pytest

from medn_edu.explorers import l1_path, projections, working_sets
from medn_edu.explorers.l1_path import l1_path_frames
from medn_edu.explorers.working_sets import cutting_plane_rounds


@pytest.fixture(scope="module")
def balls():
    return projections()


def test_lessons_of_projections(balls):
    assert len(balls.lessons) == 3
    for lesson in balls.lessons:
        assert balls.check(lesson), lesson.fact


def test_lessons_of_projections_can_fail(balls):
    to_a_corner, to_an_edge, not_enough = balls.lessons
    assert not to_a_corner.holds(45, 1.8)
    assert not to_an_edge.holds(15, 1.8)
    assert not to_an_edge.holds(45, 0.5)
    assert not not_enough.holds(45, 1.2)
    assert not not_enough.holds(45, 0.5)


def test_projections_says_which_weight_becomes_zero(balls):
    balls.set(angle=80, distance=2.0)
    assert "threshold θ = 0.97, w₁ becomes exactly 0" in balls.summary
    assert "(0.00, 1.00)" in balls.frame().alt
    balls.set(angle=45, distance=0.5)
    assert "the ball contains it (θ = 0); L2 projection (0.35, 0.35), where it is." in balls.summary
    balls.set(angle=180, distance=1.5)
    assert "no coordinate becomes 0" in balls.summary, "it was 0 already"
    assert "-0.00" not in balls.summary + balls.frame().alt


def test_projections_go_once_around(balls):
    angle = balls.controls["angle"]
    assert angle.kind == "time"
    assert (angle.values[0], angle.values[-1]) == (0, 360)
    balls.set(angle=0, distance=1.5)
    first = balls.frame().png
    assert balls.set(angle=360).frame().png == first
    assert balls.set(angle=180).frame().png != first


# -- working sets ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cuts():
    return working_sets()


def test_lessons_of_working_sets(cuts):
    assert len(cuts.lessons) == 4
    for lesson in cuts.lessons:
        assert cuts.check(lesson), lesson.fact


def test_lessons_of_working_sets_can_fail(cuts):
    overshoots, few_are_enough, sticks, stays_empty = cuts.lessons
    assert not overshoots.holds(1, 1.0)
    assert not few_are_enough.holds(2, 1.0)
    assert not few_are_enough.holds(9, 0.3)
    assert not sticks.holds(9, 1.0)
    assert not stays_empty.holds(9, 0.3)


def test_working_sets_says_both_bounds(cuts):
    here = cutting_plane_rounds(1.0)[1]
    cuts.set(rounds=1, C=1.0)
    assert "2 of 62 labellings" in cuts.summary
    assert f"lower bound {here.lower:.3f}, upper bound {here.upper:.3f}, gap" in cuts.summary
    cuts.set(rounds=cuts.controls["rounds"].values[-1], C=0.05)
    assert "weights (0.00, 0.00)" in cuts.summary
    assert cuts.summary.endswith("the optimum. The method ended with round 1.")
    assert "bounds 0.500 and 0.500 after round 1" in cuts.frame().alt
    assert cuts.controls["rounds"].kind == "time"


# -- the path -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def path():
    return l1_path()


def test_lessons_of_the_path(path):
    assert len(path.lessons) == 5
    for lesson in path.lessons:
        assert path.check(lesson), lesson.fact


def test_lessons_of_the_path_can_fail(path):
    nothing_is_zero, those_below_die, exact_zeros, one_copy_stays, noise_is_gone = path.lessons
    last = path.controls["step"].values[-1]
    assert not nothing_is_zero.holds(last, 0.05)
    assert not those_below_die.holds(0, 0.05)
    assert not exact_zeros.holds(last - 5, 0.05)
    assert not one_copy_stays.holds(last - 1, 0.05)
    assert not noise_is_gone.holds(last, 0.1)


def test_the_path_says_its_bounds(path):
    path.set(step=0, C=0.05)
    first = l1_path_frames(0.05)[0]
    assert f"cost {first.primal:.3f}, dual value {first.dual:.3f}, gap" in path.summary
    assert ", 0 exactly 0;" in path.summary
    path.set(step=path.controls["step"].values[-1])
    assert "after the clean-up" in path.summary
    assert path.summary.endswith("no gap.")
    assert "at the line of one half" in path.frame().alt
    assert path.controls["step"].kind == "time"
