"""The figures of L1-M3N: projections, working sets and the path show what the algorithms did."""

from __future__ import annotations

import numpy as np
import pytest

from medn_edu.plots.projections import Projections, projection_frame


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
