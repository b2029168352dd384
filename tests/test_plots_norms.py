"""Solids: every corner is on the mesh, and lines are drawn where the solid does not hide them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from medn_edu import explorers as plots
from medn_edu.explorers.norms import draw_norm_solid, kl_solids, plain_solids


@pytest.mark.parametrize("solid", [*plain_solids(21, 41), *kl_solids(n_polar=21, n_azimuth=41)])
def test_solids_pass_the_axes(solid):
    for axis in np.concatenate([np.eye(3), -np.eye(3)]):
        assert np.abs(solid.points - axis).max(axis=-1).min() < 1e-12


def test_solids_are_drawn(tmp_path):
    figure = plots.new_figure(8, 4)
    for number, solid in enumerate(
        [*plain_solids(21, 41), *kl_solids(n_polar=21, n_azimuth=41)], 1
    ):
        ax = figure.add_subplot(1, 4, number, projection="3d")
        draw_norm_solid(ax, solid, reach=1.2)
        assert ax.get_title() == solid.name
        assert ax.get_xlim() == pytest.approx((-1.2, 1.2))
    assert plots.save_figure(figure, tmp_path / "figure.png").stat().st_size > 20_000


def test_hidden_cuts_are_not_drawn():
    """Of the octahedron's twelve edges nine can be seen, not those at the back."""
    ax = plots.new_figure(4, 4).add_subplot(projection="3d")
    draw_norm_solid(ax, plain_solids(9, 17)[1])
    middles = []
    for line in ax.lines:
        points = np.array(line.get_data_3d()).T
        middles.append(
            (points[:-1] + points[1:])[~np.isnan(points[:-1] + points[1:]).any(axis=1)] / 2
        )
    signs = {tuple(sign) for sign in np.sign(np.round(np.concatenate(middles), 9)).astype(int)}
    edges = {s for s in signs if sum(map(abs, s)) == 2}
    hidden = {(-1, -1, 0), (-1, 0, -1), (0, -1, -1)}
    every = {s for s in itertools.product((-1, 0, 1), repeat=3) if sum(map(abs, s)) == 2}
    assert edges == every - hidden
