"""Shrinkage curves, tilted priors and their explorer: the figures show what the formulas say."""

from __future__ import annotations

import numpy as np
import pytest

from medn_edu.explorers import (
    draw_shrinkage,
    new_figure,
    prior_gallery,
    prior_style,
    shrinkage,
    shrinkage_curve,
)
from medn_edu.explorers.shrinkage import tilting_frame
from medn_edu.priors import GaussianPrior, LaplacePrior

GALLERY = prior_gallery()


@pytest.fixture(scope="module")
def explorer():
    return shrinkage()


# -- curves and gallery ---------------------------------------------------------------------------


def test_figure_1():
    gaussian = shrinkage_curve("Gaussian", GaussianPrior())
    np.testing.assert_allclose(gaussian.mean, gaussian.eta)
    assert (gaussian.eta[0], gaussian.eta[-1]) == (-4, 4)
    for lam in (4.0, 6.0):
        curve = shrinkage_curve("Laplace", LaplacePrior(lam))
        np.testing.assert_allclose(curve.mean, 2 * curve.eta / (lam - curve.eta**2))
        assert np.abs(curve.eta).max() < np.sqrt(lam) < 1.001 * np.abs(curve.eta).max()
        assert np.abs(curve.mean).max() > 100, "it leaves the axes"
    with pytest.raises(ValueError, match="Laplace: no eta from 3 to 4 is in the domain"):
        shrinkage_curve("Laplace", LaplacePrior(4.0), 3, 4)


def test_matched_variances():
    for lam in (1.0, 4.0, 9.0):
        for name, prior in prior_gallery(lam, matched=True).items():
            variance = np.ravel(prior.variance(np.zeros(1)))[0]
            assert variance == pytest.approx(2 / lam), name


def test_curves_are_told_apart_without_colour():
    ax = new_figure().add_subplot()
    draw_shrinkage(ax, [shrinkage_curve(*item) for item in GALLERY.items()])
    curves = [line for line in ax.lines if line.get_label() in GALLERY]
    assert len({line.get_color() for line in curves}) == len(GALLERY)
    assert len({str(prior_style(name)["linestyle"]) for name in GALLERY}) >= 6
    dotted = {round(line.get_xdata()[0], 6) for line in ax.lines if line.get_linestyle() == ":"}
    assert dotted >= {-2.0, 2.0}
    assert prior_style("logistic") not in [prior_style(name) for name in GALLERY]


def test_two_of_a_kind_look_different():
    ax = new_figure().add_subplot()
    pair = {f"Laplace, λ = {lam:g}": LaplacePrior(lam) for lam in (4.0, 6.0)}
    draw_shrinkage(ax, [shrinkage_curve(*item) for item in pair.items()])
    first, second = (line for line in ax.lines if line.get_label() in pair)
    assert first.get_color() != second.get_color()
    assert first.get_linestyle() != second.get_linestyle()


# -- a tilted prior -------------------------------------------------------------------------------


@pytest.mark.parametrize("matched", [False, True])
def test_the_tilted_prior_is_a_distribution_with_the_mean_of_the_curve(matched):
    """By the sums of what is drawn: bars, and areas below curves."""
    w = np.linspace(-4, 4, 801)
    for name in GALLERY:
        for eta in (-0.3, 0.0, 0.5):
            frame = tilting_frame(name, eta, 9.0, matched)
            for density, mass in (
                (frame.before, frame.mass_before),
                (frame.after, frame.mass_after),
            ):
                total = density.sum() * 0.01 + mass.sum()
                assert total == pytest.approx(1, abs=0.03), "a jump has half a step"
            mean = w @ frame.after * 0.01 + frame.points @ frame.mass_after
            assert mean == pytest.approx(frame.mean, abs=0.02)
            assert frame.peak >= frame.after.max() * (1 - 1e-9)
            curve = frame.curves[name]
            assert np.interp(eta, curve.eta, curve.mean) == pytest.approx(frame.mean, abs=2e-3)


# -- the explorer ---------------------------------------------------------------------------------


def test_lessons_can_fail(explorer):
    """A fact that held for every prior and every setting would teach nothing."""
    runs_away, lets_go, wall_moves, selects = explorer.lessons
    assert not runs_away.holds(prior="normal-inverse Gaussian", eta=1.9, lam=4, matched=False)
    assert not lets_go.holds(prior="box", eta=1.0, lam=4, matched=True)
    assert not wall_moves.holds(prior="Laplace", eta=2.5, lam=4, matched=False)
    assert not selects.holds(prior="Gaussian", eta=3.0, lam=4, matched=False)


def shown(explorer, ax: int) -> list[str]:
    """Return the words that can be read in one of the axes."""
    texts = explorer.figure.axes[ax].texts
    return [text.get_text() for text in texts if text.get_visible()]


def test_picture_and_words_show_the_frame():
    explorer = shrinkage()
    for name in GALLERY:
        frame = tilting_frame(name, 0.5)
        explorer.set(prior=name, eta=0.5).frame()
        left, right, names = explorer.figure.axes
        assert f"mean {frame.mean:.2f}" in shown(explorer, 0)
        assert f"posterior mean {frame.mean:.2f}" in explorer.summary
        assert [t.get_text() for t in names.texts if t.get_fontweight() == "bold"] == [name]
        strong = [line for line in right.lines if line.get_linewidth() == 3]
        assert [line.get_label() for line in strong] == [name]
        points = {tuple(line.get_xydata()[0]) for line in right.lines if line.get_marker() == "o"}
        assert points == {(0.5, frame.mean)}
        after = next(line for line in left.lines if "posterior" in line.get_label())
        assert after.get_ydata().max() == pytest.approx(0.82 * frame.after.max() / frame.peak)


def test_a_mean_beyond_the_axes_is_marked_at_their_edge():
    explorer = shrinkage()
    for eta, left_marker, right_marker in ((1.9, ">", "^"), (0.0, "^", "o")):
        explorer.set(prior="Laplace", eta=eta).frame()
        left, right, _ = explorer.figure.axes
        assert left_marker in [line.get_marker() for line in left.lines]
        assert right_marker in [line.get_marker() for line in right.lines]
        line = next(line for line in left.lines if list(line.get_ydata()) == [0, 0.9])
        assert line.get_visible() == (eta == 0)


def test_it_says_the_posterior_mean(explorer):
    explorer.set(prior="Laplace", eta=1.5, lam=4, matched=False)
    assert explorer.summary.endswith(
        "posterior mean 1.71, standard deviation 2.02, mode 0.00; a Gaussian of the prior's variance "
        "has the mean 0.75."
    )
    assert "mean 1.71" in explorer.frame().alt


def test_outside_the_domain_there_is_no_posterior():
    explorer = shrinkage()
    for prior, domain in (("Laplace", "-2.00 < η < 2.00"), ("exponential", "η < 2.00")):
        frame = tilting_frame(prior, 2.5)
        assert (frame.exists, frame.mode, frame.after.any()) == (False, None, False)
        explorer.set(prior=prior, eta=2.5)
        assert f"no posterior, for η is outside the domain {domain}." in explorer.summary
        assert explorer.frame().alt.count("no posterior") == 1
        assert any("no posterior" in text for text in shown(explorer, 0))
        assert not any(text.startswith("mean") for text in shown(explorer, 0))


def test_every_prior_at_both_ends(explorer):
    for prior in GALLERY:
        for matched in (False, True):
            seen = set()
            for eta, lam in ((-3.0, 1), (0.0, 9), (3.0, 9)):
                frame = explorer.set(prior=prior, eta=eta, lam=lam, matched=matched).frame()
                seen.add(frame.png)
                assert frame.summary.startswith(f"{prior} prior")
                assert "nan" not in frame.summary + frame.alt
                assert "inf" not in frame.summary
            assert len(seen) == 3


def test_the_curves_of_the_others_follow_the_switch():
    explorer = shrinkage()
    for matched, slope in ((False, 1), (True, 0.5)):
        explorer.set(prior="box", eta=0.5, matched=matched).frame()
        lines = {line.get_label(): line for line in explorer.figure.axes[1].lines}
        assert np.polyfit(*lines["Gaussian"].get_data(), 1)[0] == pytest.approx(slope)
    time = explorer.controls["eta"]
    assert time.kind == "time"
    assert 0.0 in time.values
