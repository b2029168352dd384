"""Shrinkage curves, tilted priors and balls: the figures show what the formulas say."""

from __future__ import annotations

import numpy as np
import pytest

from medn_edu import explorers as plots
from medn_edu.explorers.norms import draw_norm_balls, kl_balls, plain_balls
from medn_edu.explorers.shrinkage import (
    Tilting,
    draw_shrinkage,
    prior_gallery,
    prior_style,
    shrinkage_curve,
    tilting_frame,
)
from medn_edu.priors import GaussianPrior, LaplacePrior

GALLERY = prior_gallery()


def test_figure_1():
    gaussian = shrinkage_curve("Gaussian", GaussianPrior())
    np.testing.assert_allclose(gaussian.mean, gaussian.eta)
    assert (gaussian.eta[0], gaussian.eta[-1]) == (-4, 4)
    for lam in (4.0, 6.0):
        curve = shrinkage_curve("Laplace", LaplacePrior(lam))
        np.testing.assert_allclose(curve.mean, 2 * curve.eta / (lam - curve.eta**2))
        assert np.abs(curve.eta).max() < np.sqrt(lam) < 1.001 * np.abs(curve.eta).max()
        assert np.abs(curve.mean).max() > 100, "it leaves the axes"


def test_matched_variances():
    for lam in (1.0, 4.0, 9.0):
        for name, prior in prior_gallery(lam, matched=True).items():
            variance = np.ravel(prior.variance(np.zeros(1)))[0]
            assert variance == pytest.approx(2 / lam), name


def test_a_range_outside_the_domain_is_refused():
    with pytest.raises(ValueError, match="Laplace: no eta from 3 to 4 is in the domain"):
        shrinkage_curve("Laplace", LaplacePrior(4.0), 3, 4)


def test_curves_are_told_apart_without_colour(tmp_path):
    figure = plots.new_figure()
    ax = figure.add_subplot()
    draw_shrinkage(ax, [shrinkage_curve(*item) for item in GALLERY.items()])
    curves = [line for line in ax.lines if line.get_label() in GALLERY]
    assert len({line.get_color() for line in curves}) == len(GALLERY)
    looks = {(line.get_linestyle(), str(line._unscaled_dash_pattern)) for line in curves}
    assert len(looks) >= 6
    dotted = {round(line.get_xdata()[0], 6) for line in ax.lines if line.get_linestyle() == ":"}
    assert dotted >= {-2.0, 2.0}
    assert plots.save_figure(figure, tmp_path / "figure.png").stat().st_size > 10_000


def test_two_of_a_kind_look_different():
    ax = plots.new_figure().add_subplot()
    pair = {f"Laplace, λ = {lam:g}": LaplacePrior(lam) for lam in (4.0, 6.0)}
    draw_shrinkage(ax, [shrinkage_curve(*item) for item in pair.items()])
    first, second = (line for line in ax.lines if line.get_label() in pair)
    assert first.get_color() != second.get_color()
    assert first.get_linestyle() != second.get_linestyle()


def test_somebodys_own_prior_has_a_style():
    assert prior_style("logistic") not in [prior_style(name) for name in GALLERY]


@pytest.mark.parametrize("matched", [False, True])
@pytest.mark.parametrize("name", GALLERY)
def test_the_tilted_prior_is_a_distribution_with_the_mean_of_the_curve(name, matched):
    """By the sums of what is drawn: bars, and areas below curves."""
    for eta in (-0.3, 0.0, 0.5):
        frame = tilting_frame(name, eta, 9.0, matched=matched)
        step = frame.w[1] - frame.w[0]
        for density, mass in ((frame.before, frame.mass_before), (frame.after, frame.mass_after)):
            assert density.sum() * step + mass.sum() == pytest.approx(
                1, abs=0.03
            )  # a jump has half a step
        mean = frame.w @ frame.after * step + frame.points @ frame.mass_after
        assert mean == pytest.approx(frame.mean, abs=0.02)
        assert frame.peak >= frame.after.max() * (1 - 1e-9)
        curve = frame.curves[name]
        assert np.interp(eta, curve.eta, curve.mean) == pytest.approx(frame.mean, abs=2e-3)


def test_outside_the_domain_there_is_no_posterior():
    frame = tilting_frame("Laplace", 2.0, 4.0)
    assert not frame.exists
    assert frame.mode is None
    assert not frame.after.any()
    tilting = Tilting()
    tilting.show(frame)
    texts = [text.get_text() for text in tilting.figure.axes[0].texts if text.get_visible()]
    assert any("no posterior" in text for text in texts)
    assert not any(text.startswith("mean") for text in texts)


def test_the_figure_shows_the_frame():
    tilting = Tilting()
    for name in GALLERY:
        frame = tilting_frame(name, 0.5)
        tilting.show(frame)
        left, right, names = tilting.figure.axes
        assert f"mean {frame.mean:.2f}" in [text.get_text() for text in left.texts]
        assert [t.get_text() for t in names.texts if t.get_fontweight() == "bold"] == [name]
        strong = [line for line in right.lines if line.get_linewidth() == 3]
        assert [line.get_label() for line in strong] == [name]
        assert tilting._now.get_xydata().tolist() == [[0.5, frame.mean]]


def test_a_mean_beyond_the_axes_is_marked_at_their_edge():
    tilting = Tilting()
    tilting.show(tilting_frame("Laplace", 1.9))
    assert tilting._density._mean_dot.get_marker() == ">"
    assert tilting._now.get_marker() == "^"
    assert not tilting._density._mean_line.get_visible()
    tilting.show(tilting_frame("Laplace", 0.0))
    assert (tilting._density._mean_dot.get_marker(), tilting._now.get_marker()) == ("^", "o")
    assert tilting._density._mean_line.get_visible()


def test_balls_are_drawn_with_line_styles(tmp_path):
    figure = plots.new_figure(8, 4)
    left, right = figure.subplots(1, 2)
    draw_norm_balls(left, plain_balls())
    draw_norm_balls(right, kl_balls())
    assert [t.get_text() for t in left.get_legend().get_texts()] == ["L2", "L1"]
    curves = [line for line in right.lines if str(line.get_label()).startswith("KL")]
    assert len({(line.get_color()) for line in curves}) == len(curves) == 4
    assert len({str(line._unscaled_dash_pattern) for line in curves}) == len(curves)
    for line in curves:
        assert np.abs(line.get_xydata() - [0, 1]).max(axis=1).min() < 1e-12
    assert plots.save_figure(figure, tmp_path / "figure.png").stat().st_size > 10_000
