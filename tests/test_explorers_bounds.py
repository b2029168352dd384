"""Explorers of norms and of Theorem 8: balls and lines touch, terms are those of `theory.bounds`."""

import itertools

import numpy as np
import pytest

from medn_edu import explorers
from medn_edu.explorers.norm_balls import LAMS, touching_frame, touching_kl
from medn_edu.explorers.pac_bayes import BEST, DELTA, PAPERS, SIZES, Setting, terms_frame
from medn_edu.theory.bounds import MarginBound, MarginSample, theorem_8, theorem_8_m


def test_balls_are_told_apart_without_colour():
    ax = explorers.new_figure().add_subplot()
    explorers.draw_norm_balls(ax, explorers.kl_balls())
    curves = [line for line in ax.lines if line.get_label().startswith("KL")]
    assert len({line.get_linestyle() for line in curves}) == len(curves) == 4


def test_hidden_cuts_are_not_drawn():
    """Of the octahedron's twelve edges nine can be seen, not those at the back."""
    ax = explorers.new_figure(4, 4).add_subplot(projection="3d")
    explorers.draw_norm_solid(ax, explorers.plain_solids(9, 17)[1], reach=1.2)
    assert ax.get_xlim() == pytest.approx((-1.2, 1.2))
    drawn = [np.array(line.get_data_3d()).T for line in ax.lines]
    middles = np.concatenate([(points[:-1] + points[1:]) / 2 for points in drawn])
    middles = middles[~np.isnan(middles).any(axis=1)]
    signs = {tuple(sign) for sign in np.sign(np.round(middles, 9)).astype(int)}
    edges = {s for s in signs if sum(map(abs, s)) == 2}
    hidden = {(-1, -1, 0), (-1, 0, -1), (0, -1, -1)}
    every = {s for s in itertools.product((-1, 0, 1), repeat=3) if sum(map(abs, s)) == 2}
    assert edges == every - hidden


@pytest.mark.parametrize("lam", [0.1, 400.0, 1e6])
def test_the_turning_line_is_the_touching_point(lam):
    """The first weight against the direction, from edges of the drawn ball: to a line's width."""
    angles, first = touching_frame(lam, 65).turned.T
    assert np.all(np.diff(angles) > 0)
    assert angles[[0, -1]].tolist() == [0, 90]
    for angle in (5, 40, 44, 46, 50, 85):
        direction = np.array([np.cos(np.deg2rad(angle)), np.sin(np.deg2rad(angle))])
        exact = touching_kl(lam, direction)
        assert np.interp(angle, angles, first) == pytest.approx(exact[0], abs=2e-3)
        smaller = touching_frame(lam, angle).smaller
        shown = np.interp(np.log(lam), np.log(LAMS), np.log(smaller))
        assert shown == pytest.approx(np.log(exact.min()), abs=0.01)


def test_norm_balls_shows_the_frame():
    explorer = explorers.norm_balls().set(lam=10_000, angle=47)
    explorer.frame()
    [on_kl] = touching_frame(10_000, 47).touched["KL"]
    left, turned, smaller = (
        {line.get_label(): line.get_xydata() for line in ax.lines} for ax in explorer.figure.axes
    )
    np.testing.assert_allclose(left["on the KL ball"], [on_kl])
    np.testing.assert_allclose(turned["on the KL ball"], [[47, on_kl[0]]])
    np.testing.assert_allclose(turned["on the L1 ball"], [[47, 0]])
    np.testing.assert_allclose(smaller["KL"][:, 1], touching_frame(10_000, 47).smaller)
    assert "L1: exactly 0" in [text.get_text() for text in explorer.figure.axes[2].texts]
    said = explorer.set(angle=65).summary
    assert said.startswith(
        "λ = 10,000, direction 65 degrees: the line touches the KL ball at (0.0117,"
    )
    assert said.endswith("and the L1 ball at its corner (0, 1).")
    assert "the L1 ball along an edge." in explorer.set(lam=1_000_000, angle=45).summary


def by_the_theorem(n: int, setting: Setting) -> MarginBound:
    """What `theorem_8` says: some margins at the threshold, all others far above."""
    at_most = round(setting.margin_loss * n)
    sample = MarginSample(
        np.array([setting.ratio, 2.0]), 1.0, setting.log_n_labellings, [at_most, n - at_most]
    )
    papers = theorem_8_m(sample, setting.divergence, setting.ratio)
    m = papers if setting.draws == PAPERS else None
    return theorem_8(sample, setting.divergence, delta=DELTA, gamma=setting.ratio, m=m)


@pytest.mark.parametrize("draws", [PAPERS, BEST])
def test_terms_are_the_theorems(draws):
    corners = itertools.product(
        (0.1, 1000.0), (0.01, 0.2, 1.0), (1, 14), (SIZES[0], 10_000, SIZES[-1])
    )
    for divergence, ratio, letters, n in corners:
        setting = Setting(divergence, ratio, letters, 0.25, draws)
        frame, bound = terms_frame(n, setting), by_the_theorem(n, setting)
        found = frame.value, frame.averaging, frame.root, frame.m
        expected = bound.value, bound.averaging, bound.complexity, bound.m
        assert found == pytest.approx(expected, rel=1e-9)
        parts = np.array([bound.divergence, bound.sampling, bound.union, 2.0]) / (2 * n - 1)
        np.testing.assert_allclose(frame.inside, parts, rtol=1e-6)
        assert frame.curve[SIZES.index(n)] == pytest.approx(frame.value)
    for ratio in (0.05, 1.0):
        setting = Setting(3.0, ratio, 4, 0.0, draws)
        n = terms_frame(100, setting).speaks_from
        assert by_the_theorem(n, setting).value < 1 <= by_the_theorem(n - 1, setting).value


def test_pac_bayes_shows_the_frame():
    explorer, setting = explorers.pac_bayes_terms(), Setting(10.0, 0.1, 3, 0.05, BEST)
    boxes = [patch for patch in explorer.figure.axes[0].patches if patch.get_width() == 0.3]
    explorer.set(n=10**9, divergence=10.0, ratio=0.1, letters=3, loss=0.05, m=BEST).frame()
    frame, heights = terms_frame(10**9, setting), []
    for tops in ((sum(frame.inside), frame.value), (1.6, 1.6)):  # of few samples they are cut off
        for bar, top in zip((boxes[:4], boxes[4:]), tops, strict=True):
            assert sum(box.get_height() for box in bar) == pytest.approx(top)
            heights.append([box.get_height() for box in bar])
        explorer.set(n=100).frame()
    assert heights[:2] == [
        pytest.approx(frame.inside),
        pytest.approx([0.05, frame.averaging, frame.root]),
    ]
    said = explorer.set(n=10_000, m=PAPERS).summary
    bound = by_the_theorem(10_000, Setting(10.0, 0.1, 3, 0.05, PAPERS))
    assert f"3 letters of 26, the paper's m: m = {bound.m:,}." in said
    assert f"root {bound.complexity:.3g} = {bound.value:.3g}." in said
    assert f"a bar of the bound {bound.value:.3g}. Right" in explorer.frame().alt
    assert said.endswith("The bound is below 1 from about N = 266,000 on.")
