"""The explorer of balls touched by lines says what the theory says; its lessons can fail."""

from __future__ import annotations

import numpy as np
import pytest

from medn_edu.explorers import norm_balls
from medn_edu.explorers.norm_balls import LAMS, Touching, touching_frame, touching_kl
from medn_edu.theory import kl_norm


@pytest.fixture(scope="module")
def balls():
    return norm_balls()


def test_lessons(balls):
    assert len(balls.lessons) == 3
    for lesson in balls.lessons:
        assert balls.check(lesson), lesson.fact


def test_lessons_can_fail(balls):
    never_sticks, round_like_l2, passes_fast = balls.lessons
    assert not never_sticks.holds(2.0, 65)
    assert not round_like_l2.holds(1.0, 65)
    assert not round_like_l2.holds(-1.0, 80)
    assert not passes_fast.holds(2.0, 53)
    assert not passes_fast.holds(4.0, 70)


@pytest.mark.parametrize("log_lam", [-1.0, 1.25, 6.0])
@pytest.mark.parametrize("angle", [5, 45, 65])
def test_no_point_of_the_ball_is_farther(log_lam, angle):
    frame = touching_frame(log_lam, angle)
    level = kl_norm((0, 1), frame.lam)
    for point in (frame.on_kl, *frame.ball[::36]):
        assert kl_norm(point, frame.lam) == pytest.approx(level, rel=1e-9)
    assert np.max(frame.ball @ frame.direction) <= frame.on_kl @ frame.direction + 1e-9
    assert np.interp(frame.lam, LAMS, frame.smaller) == pytest.approx(frame.on_kl.min(), rel=1e-6)


@pytest.mark.parametrize("lam", [0.1, 400.0, 1e6])
def test_the_turning_line_is_the_touching_point(lam):
    """The first weight against the direction, from edges of the drawn ball: to a line's width."""
    angles, first = touching_frame(np.log10(lam), 65).turned.T
    assert np.all(np.diff(angles) > 0)
    assert angles[[0, -1]].tolist() == [0, 90]
    for angle in (5, 40, 44, 46, 50, 85):
        direction = np.array([np.cos(np.deg2rad(angle)), np.sin(np.deg2rad(angle))])
        exact = touching_kl(lam, direction)[0]
        assert np.interp(angle, angles, first) == pytest.approx(exact, abs=2e-3)


def test_the_figure_shows_the_frame():
    drawn, frame = Touching(), touching_frame(4.0, 47)
    drawn.show(frame)
    balls, turned, smaller = drawn.figure.axes
    marks = [line for line in balls.lines if str(line.get_label()).startswith("on the KL")]
    np.testing.assert_allclose(marks[0].get_xydata()[0], frame.on_kl)
    marks = {line.get_label(): line.get_xydata() for line in turned.lines}
    np.testing.assert_allclose(marks["on the KL ball"], [[47, frame.on_kl[0]]])
    np.testing.assert_allclose(marks["on the L1 ball"], [[47, 0]])
    assert f"{frame.on_kl.min():.2f}" in [text.get_text() for text in smaller.texts]


def test_at_45_degrees_an_edge_is_touched(balls):
    balls.set(log_lam=6.0, angle=45)
    assert "the L1 ball along an edge." in balls.summary
    frame = touching_frame(6.0, 45)
    assert frame.on_l1.tolist() == [[1, 0], [0, 1]]
    np.testing.assert_allclose(frame.on_kl, 0.5, atol=5e-3)


def test_summary_and_alternative_text(balls):
    balls.set(log_lam=4.0, angle=65)
    assert (
        "λ = 1e+04, direction 65 degrees: a line touches the KL ball in (0.0117," in balls.summary
    )
    assert balls.summary.endswith("and the L1 ball in its corner (0, 1).")
    assert "now 0.0117, on the L2 ball 0.42." in balls.frame().alt


def test_each_position_has_its_own_picture(balls):
    pictures = {
        balls.set(log_lam=lam, angle=angle).frame().png for lam in (0, 4) for angle in (30, 60)
    }
    assert len(pictures) == 4
    assert [control.kind for control in balls.controls.values()] == ["time", "slider"]
