"""Balls, solids and the explorer of lines that touch them say what the theory says."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from medn_edu.explorers import (
    draw_norm_balls,
    draw_norm_solid,
    kl_balls,
    kl_solids,
    new_figure,
    norm_balls,
    plain_balls,
    plain_solids,
)
from medn_edu.explorers.norm_balls import LAMS, touching_frame, touching_kl
from medn_edu.theory import kl_norm

SOLIDS = [*plain_solids(21, 41), *kl_solids(n_polar=21, n_azimuth=41)]


@pytest.fixture(scope="module")
def balls():
    return norm_balls()


# -- still figures --------------------------------------------------------------------------------


def test_balls_are_drawn_with_line_styles():
    left, right = new_figure(8, 4).subplots(1, 2)
    draw_norm_balls(left, plain_balls())
    draw_norm_balls(right, kl_balls())
    assert [t.get_text() for t in left.get_legend().get_texts()] == ["L2", "L1"]
    curves = [line for line in right.lines if str(line.get_label()).startswith("KL")]
    assert len({line.get_color() for line in curves}) == len(curves) == 4
    assert len({str(line._unscaled_dash_pattern) for line in curves}) == len(curves)
    for line in curves:
        assert np.abs(line.get_xydata() - [0, 1]).max(axis=1).min() < 1e-12


def test_solids_pass_the_axes_and_are_drawn():
    figure = new_figure(8, 4)
    for number, solid in enumerate(SOLIDS, 1):
        for axis in np.concatenate([np.eye(3), -np.eye(3)]):
            assert np.abs(solid.points - axis).max(axis=-1).min() < 1e-12
        ax = figure.add_subplot(1, 4, number, projection="3d")
        draw_norm_solid(ax, solid, reach=1.2)
        assert ax.get_title() == solid.name
        assert ax.get_xlim() == pytest.approx((-1.2, 1.2))
    figure.draw_without_rendering()


def test_hidden_cuts_are_not_drawn():
    """Of the octahedron's twelve edges nine can be seen, not those at the back."""
    ax = new_figure(4, 4).add_subplot(projection="3d")
    draw_norm_solid(ax, plain_solids(9, 17)[1])
    drawn = [np.array(line.get_data_3d()).T for line in ax.lines]
    middles = np.concatenate([(points[:-1] + points[1:]) / 2 for points in drawn])
    middles = middles[~np.isnan(middles).any(axis=1)]
    signs = {tuple(sign) for sign in np.sign(np.round(middles, 9)).astype(int)}
    edges = {s for s in signs if sum(map(abs, s)) == 2}
    hidden = {(-1, -1, 0), (-1, 0, -1), (0, -1, -1)}
    every = {s for s in itertools.product((-1, 0, 1), repeat=3) if sum(map(abs, s)) == 2}
    assert edges == every - hidden


# -- the explorer ---------------------------------------------------------------------------------


def test_lessons_can_fail(balls):
    never_sticks, round_like_l2, passes_fast = balls.lessons
    assert not never_sticks.holds(2.0, 65)
    assert not round_like_l2.holds(1.0, 65)
    assert not round_like_l2.holds(-1.0, 80)
    assert not passes_fast.holds(2.0, 53)
    assert not passes_fast.holds(4.0, 70)


def test_no_point_of_the_ball_is_farther():
    for log_lam, angle in itertools.product((-1.0, 1.25, 6.0), (5, 45, 65)):
        frame = touching_frame(log_lam, angle)
        level = kl_norm((0, 1), frame.lam)
        [on_kl] = frame.touched["KL"]
        for point in (on_kl, *frame.ball[::36]):
            assert kl_norm(point, frame.lam) == pytest.approx(level, rel=1e-9)
        assert np.max(frame.ball @ frame.direction) <= on_kl @ frame.direction + 1e-9
        assert np.interp(frame.lam, LAMS, frame.smaller) == pytest.approx(on_kl.min(), rel=1e-6)


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


def test_the_figure_shows_the_frame(balls):
    balls.set(log_lam=4.0, angle=47).frame()
    [on_kl] = touching_frame(4.0, 47).touched["KL"]
    left, turned, smaller = balls.figure.axes
    touched = {line.get_label(): line.get_xydata() for line in left.lines}
    np.testing.assert_allclose(touched["on the KL ball"], [on_kl])
    marks = {line.get_label(): line.get_xydata() for line in turned.lines}
    np.testing.assert_allclose(marks["on the KL ball"], [[47, on_kl[0]]])
    np.testing.assert_allclose(marks["on the L1 ball"], [[47, 0]])
    assert f"{on_kl.min():.2f}" in [text.get_text() for text in smaller.texts]


def test_at_45_degrees_an_edge_is_touched(balls):
    balls.set(log_lam=6.0, angle=45)
    assert "the L1 ball along an edge." in balls.summary
    touched = touching_frame(6.0, 45).touched
    assert touched["L1"].tolist() == [[1, 0], [0, 1]]
    np.testing.assert_allclose(touched["KL"], 0.5, atol=5e-3)


def test_summary_and_alternative_text(balls):
    balls.set(log_lam=4.0, angle=65)
    said = balls.summary
    assert said.startswith(
        "λ = 1e+04, direction 65 degrees: a line touches the KL ball in (0.0117,"
    )
    assert said.endswith("and the L1 ball in its corner (0, 1).")
    assert "now 0.0117, on the L2 ball 0.42." in balls.frame().alt
