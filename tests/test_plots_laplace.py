"""Drawings of the Laplace prior: bells are stacked, minima marked, too many curves refused."""

from __future__ import annotations

import numpy as np
import pytest

from medn_edu.explorers import new_figure, save_figure
from medn_edu.explorers.laplace import draw_bells, draw_gaps, draw_rates
from medn_edu.theory.laplace import best_tau, jensen_gap

W = np.linspace(-1, 1, 21)


def bell(height):
    return np.column_stack([W, height * (1 - W**2)])


def test_bells_stand_on_each_other(tmp_path):
    figure = new_figure(4, 3)
    ax = figure.add_subplot()
    draw_bells(ax, {"wide": bell(0.5), "middle": bell(0.3), "narrow": bell(0.1)}, bell(1.0))
    tops = [patch.get_xy()[:, 1].max() for patch in ax.patches]
    np.testing.assert_allclose(tops, [0.5, 0.8, 0.9])
    in_front = [patch.get_zorder() for patch in ax.patches]
    assert in_front == sorted(in_front, reverse=True), "lower ones cover higher ones"
    assert len({patch.get_facecolor() for patch in ax.patches}) == 3
    assert ax.get_ylim()[1] > 1
    assert save_figure(figure, tmp_path / "figure.png").stat().st_size > 5_000


def test_minima_are_marked_and_one_gap_is_shaded(tmp_path):
    taus = np.geomspace(0.05, 20, 61)
    posteriors = {"a": (0.0, 0.25), "b": (1.0, 0.5)}
    curves = {
        name: np.column_stack([taus, jensen_gap(*p, 4.0, taus)]) for name, p in posteriors.items()
    }
    least = {
        name: np.array([best_tau(mean**2 + variance, 4.0), jensen_gap(mean, variance, 4.0)])
        for name, (mean, variance) in posteriors.items()
    }
    figure = new_figure(4, 3)
    ax = figure.add_subplot()
    draw_gaps(ax, curves, least, "b")
    marked = [line.get_xydata()[0] for line in ax.lines if line.get_marker() == "o"]
    np.testing.assert_allclose(marked, list(least.values()))
    paler, darker = (patch.get_xy() for patch in ax.patches)
    assert darker[:, 1].max() == paler[:, 1].min() == pytest.approx(least["b"][1])
    assert darker[:, 1].min() == 0
    assert ax.get_legend_handles_labels()[1] == ["a:  ≥ 0.20", "b:  ≥ 0.35"]
    assert save_figure(figure, tmp_path / "figure.png").stat().st_size > 5_000


def test_rates_are_straight_on_logarithmic_axes():
    lams = np.logspace(-2, 2, 5)
    ax = new_figure(4, 3).add_subplot()
    draw_rates(
        ax, {"falls": np.column_stack([lams, 1 / lams])}, {"λ": np.column_stack([lams, lams])}
    )
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    assert ax.get_xlim() == (0.01, 100)
    curve, guide = ax.lines
    assert curve.get_linewidth() > guide.get_linewidth()


def test_what_could_not_be_told_apart_is_refused():
    ax = new_figure(4, 3).add_subplot()
    line = np.array([[1.0, 1.0], [2.0, 2.0]])
    many = {str(k): line for k in range(7)}
    least = dict.fromkeys(many, line[0])
    for draw, n in (
        (lambda: draw_bells(ax, many, line), 6),
        (lambda: draw_gaps(ax, many, least, "0"), 4),
        (lambda: draw_rates(ax, many, {}), 4),
        (lambda: draw_rates(ax, {}, many), 2),
    ):
        with pytest.raises(ValueError, match=f"there are 7 .*; expected at most {n}"):
            draw()
