"""The explorers of L1-M3N: their lessons hold, can fail, and are what the summaries say."""

from __future__ import annotations

import pytest

from medn_edu.widgets import projections


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
