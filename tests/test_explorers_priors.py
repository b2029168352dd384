"""Explorers of priors: tilted ones, their tangents, and two weights; they show what formulas say."""

import itertools

import numpy as np
import pytest
from matplotlib.lines import Line2D

from medn_edu import explorers
from medn_edu.explorers.losses import with_minus
from medn_edu.explorers.shrinkage import draw_shrinkage, shrinkage_curve, tilting_frame
from medn_edu.explorers.tangents import PRIORS, tangent_frame
from medn_edu.explorers.two_weights import two_weights_frame
from medn_edu.priors import LaplacePrior

GALLERY = explorers.prior_gallery()


def marked(ax, marker):
    return [line for line in ax.lines if line.get_marker() == marker]


def wide(ax, width):
    return [line for line in ax.lines if line.get_linewidth() == width and line.get_visible()]


def words(explorer):
    return [t.get_text() for ax in explorer.figure.axes for t in ax.texts if t.get_visible()]


def test_curves_are_told_apart():
    ax = explorers.new_figure().add_subplot()
    draw_shrinkage(ax, [shrinkage_curve(*item) for item in GALLERY.items()])
    curves = [line for line in ax.lines if line.get_label() in GALLERY]
    assert len({line.get_color() for line in curves}) == len(GALLERY)
    dotted = {round(line.get_xdata()[0], 6) for line in ax.lines if line.get_linestyle() == ":"}
    assert dotted >= {-2.0, 2.0}
    ax = explorers.new_figure().add_subplot()
    draw_shrinkage(ax, [shrinkage_curve(f"Laplace {lam}", LaplacePrior(lam)) for lam in (4, 6)])
    first, second = (line for line in ax.lines if line.get_label().startswith("Laplace"))
    assert first.get_color() != second.get_color()
    assert first.get_linestyle() != second.get_linestyle()


@pytest.mark.parametrize("matched", [False, True])
@pytest.mark.parametrize("name", GALLERY)
def test_the_tilted_prior_is_a_distribution_with_the_mean_of_the_curve(name, matched):
    """By the sums of what is drawn: bars, and areas below curves."""
    w = np.linspace(-4, 4, 801)
    for eta in (-0.3, 0.0, 0.5):
        frame = tilting_frame(name, eta, 9.0, matched)
        before = frame.before.sum() * 0.01 + frame.mass_before.sum()
        after = frame.after.sum() * 0.01 + frame.mass_after.sum()
        assert (before, after) == pytest.approx((1, 1), abs=0.03), "a jump has half a step"
        mean = w @ frame.after * 0.01 + frame.points @ frame.mass_after
        assert mean == pytest.approx(frame.mean, abs=0.02)
        assert frame.peak >= frame.after.max() * (1 - 1e-9)
        curve = frame.curves[name]
        assert np.interp(eta, curve.eta, curve.mean) == pytest.approx(frame.mean, abs=2e-3)


def test_shrinkage_shows_the_frame():
    explorer = explorers.shrinkage()
    left, right = explorer.figure.axes
    for name in GALLERY:
        frame = tilting_frame(name, 0.5)
        assert f"posterior mean {frame.mean:.2f}" in explorer.set(prior=name, eta=0.5).summary
        assert f"mean {frame.mean:.2f}" in words(explorer)
        names = [text for text in right.texts if text.get_alpha() is None]
        [bold] = [text.get_text() for text in names if text.get_fontweight() == "bold"]
        assert bold.replace("\n", " ") == name
        assert [line.get_label() for line in wide(right, 3)] == [name]
        assert {tuple(dot.get_xydata()[0]) for dot in marked(right, "o")} == {(0.5, frame.mean)}
        after = next(line for line in left.lines if "posterior" in line.get_label())
        assert after.get_ydata().max() == pytest.approx(0.82 * frame.after.max() / frame.peak)
    for matched, slope in ((False, 1), (True, 0.5)):  # those of the others follow the switch
        said = explorer.set(prior="box", eta=0.6, matched=matched).summary
        assert ("prior of variance 2/λ = 0.50, η" in said) is matched
        lines = {line.get_label(): line for line in right.lines}
        assert np.polyfit(*lines["Gaussian"].get_data(), 1)[0] == pytest.approx(slope)
    assert explorer.set(prior="Laplace", eta=1.5, matched=False).summary.endswith(
        "mode 0.00; under the standard normal (dashed) the mean is 1.50."
    )
    assert explorer.set(matched=True).summary.endswith(
        "; under a Gaussian of the same variance (dashed) the mean is 0.75."
    )
    assert "dashed" not in explorer.set(prior="Gaussian").summary
    seen = {
        "box": [False, True, True],
        "two-point": [True, False, True],
        "spike and slab": [True] * 3,
    }
    for prior, expected in seen.items():  # a grey bar, a dashed line, and the posterior's line
        explorer.set(prior=prior, matched=False).frame()
        assert [key.get_visible() for key in left.get_legend().findobj(Line2D)] == expected
    explorer.set(prior="Laplace")
    for eta, left_marker, right_marker in ((1.9, ">", "^"), (0.0, "^", "o")):
        explorer.set(eta=eta).frame()  # a mean beyond the axes is marked at their edge
        assert marked(left, left_marker)
        assert marked(right, right_marker)


def test_listed_names_keep_to_the_left_half_of_a_narrow_picture():
    explorer = explorers.shrinkage().set(prior="normal-inverse Gaussian")  # bold: the longest
    explorer._fit({"width": 460, "ratio": 1})  # noqa: SLF001
    explorer.frame()
    right = explorer.figure.axes[1]
    listed = [text.get_window_extent() for text in right.texts if text.get_position()[0] < 0]
    assert max(box.x1 for box in listed) < right.transData.transform((0, 0))[0]


def test_every_shrinkage_curve_has_its_name_where_it_ends():
    explorer = explorers.shrinkage()
    _, right = explorer.figure.axes
    for lam, matched in itertools.product((1, 4, 9), (False, True)):
        explorer.set(lam=lam, matched=matched).frame()
        names = [text for text in right.texts if text.get_text().replace("\n", " ") in GALLERY]
        ended = sorted(text.get_position()[1] for text in names if text.get_position()[0] > 3)
        assert np.all(np.diff(ended) > 0.4), "no name lies over another"
        listed = [text.get_text() for text in names if text.get_position()[0] < 0]
        leave = {line.get_label(): line for line in right.lines if line.get_label() in GALLERY}
        leave = {name: line for name, line in leave.items() if line.get_ydata()[-1] > 4}
        assert set(listed) == set(leave)


def test_tangents_shows_the_frame():
    """Minus the intercept is the divergence, and no point lies below the tangent."""
    explorer = explorers.tangents()
    _, curve, conjugate = explorer.figure.axes
    for name, eta in itertools.product(PRIORS, (-1.2, 0.4, 1.5)):
        frame = tangent_frame(name, eta)
        said = explorer.set(prior=name, eta=eta).summary
        slope = with_minus(frame.slope)
        assert f"height Λ(η) = {frame.height:.2f}, slope μ = {slope}, intercept" in said
        tangent = next(line for line in curve.lines if line.get_linestyle() == "--")
        assert np.polyfit(*tangent.get_data(), 1) == pytest.approx([frame.slope, -frame.kl])
        for ax, x, end, at, height in (
            (curve, 0, frame.intercept, eta, frame.height),
            (conjugate, frame.slope, frame.kl, frame.slope, frame.kl),
        ):
            assert [piece.get_xydata().tolist() for piece in wide(ax, 5)] == [[[x, 0], [x, end]]]
            assert [dot.get_xydata().tolist() for dot in marked(ax, "o")] == [[[at, height]]]
        [price] = wide(conjugate, 2.2)  # a line of the slope eta touches the conjugate
        assert np.polyfit(*price.get_data(), 1)[0] == pytest.approx(eta)
        assert {f"−Λ*(μ) = −{frame.kl:.2f}", f"mean {slope}"} <= set(words(explorer))
        t, heights = frame.curve
        assert np.all(heights >= frame.intercept + frame.slope * t - 1e-12)
        mu, costs = frame.conjugate
        assert np.all(costs >= eta * mu - frame.height - 1e-12)


def test_an_intercept_far_below_is_marked_at_the_edge():
    explorer = explorers.tangents()
    _, curve, conjugate = explorer.figure.axes
    explorer.set(prior="Laplace", eta=1.9).frame()
    [cut], [piece], [point] = marked(curve, "v"), wide(curve, 5), marked(conjugate, "o")
    assert curve.get_ylim()[0] < cut.get_ydata()[0] == piece.get_ydata()[1]
    assert not point.get_visible()
    assert "Λ*(9.74) = 16.18, outside" in words(explorer)
    explorer.set(prior="Laplace", eta=0.5).frame()
    assert cut.get_marker() == "s"
    assert point.get_visible()


def test_outside_the_domain_there_is_no_posterior_and_no_tangent():
    explorer = explorers.shrinkage()
    for prior, domain in (("Laplace", "−2.00 < η < 2.00"), ("exponential", "η < 2.00")):
        frame = tilting_frame(prior, 2.5)
        assert (frame.exists, frame.mode, frame.after.any()) == (False, None, False)
        said = explorer.set(prior=prior, eta=2.5).summary
        assert f"no posterior, because η is outside the domain {domain}." in said
        assert explorer.frame().alt.count("no posterior") == 1
        assert not any(text.startswith("mean") for text in words(explorer))
    explorer = explorers.tangents().set(prior="Laplace", eta=2.0)
    assert explorer.summary.endswith("Λ is infinite. It's finite only for −2.00 < η < 2.00.")
    assert "without a tangent" in explorer.frame().alt
    for ax in explorer.figure.axes[1:]:
        moving = [*marked(ax, "o"), *marked(ax, "s")]
        moving += [line for line in ax.lines if line.get_linestyle() == "--"]
        assert not any(artist.get_visible() for artist in moving)
    said = words(explorer)
    assert "Λ(η) = ∞:\nno point, no tangent" in said
    assert any("no posterior" in text for text in said)
    assert not any("μ" in text or "KL" in text for text in said)


def test_the_mean_lies_on_the_line_of_every_labelling_with_a_dual_variable():
    explorer = explorers.two_weights().set(prior="Gaussian", C=0.3)
    frame = two_weights_frame("Gaussian", 0.3)
    assert [frame.slots[k].name for k in frame.bound] == ["aax", "xax"]
    on_lines = frame.problem.differences[frame.rows] @ frame.mean - frame.wanted
    np.testing.assert_allclose(on_lines[frame.bound], 0, atol=1e-3)
    assert explorer.summary.endswith(
        "50% of the posterior on the wrong side of each of the lines of aax, xax."
    )


def test_two_weights_shows_the_frame():
    frame = two_weights_frame("Gaussian", 0.4, 4.0, 1)
    explorer = explorers.two_weights().set(prior="Gaussian", C=0.4)
    explorer.frame()
    plane, bars = explorer.figure.axes
    (mean,) = marked(plane, "o")
    assert mean.get_xydata().tolist() == [frame.mean.tolist()]
    [image] = plane.images  # the highest density of a normal posterior is at its mean
    row, column = np.unravel_index(image.get_array().argmax(), image.get_array().shape)
    assert np.linspace(-2, 4, 241)[[column, row]] == pytest.approx(frame.mean, abs=0.025)
    shown = [bar for bar in bars.patches if bar.get_visible()][: len(frame.slots)]
    assert np.allclose([bar.get_width() * 0.4 for bar in shown], frame.alpha)
    lines = np.array([line.get_xydata() for line in wide(plane, 2.2)])
    assert len(lines) == 2  # aax and xax tie
    for start, end in lines:
        along, there = end - start, frame.mean - start  # the mean is on the line
        assert abs(np.linalg.det([along, there])) < 1e-6 * np.linalg.norm(along)
    for row, said in enumerate((["aax", "0.35"], ["aai", "0"])):  # a name and a value each
        assert [t.get_text() for t in bars.texts if t.get_position()[1] == row] == said
    (region,) = (patch for patch in plane.patches if patch.get_hatch())
    for corner in region.get_xy():
        inside = corner + 1e-6 * (np.array([2.5, 2.5]) - corner)
        assert frame.problem.xi(inside)[0] < 1e-5
    assert explorer.set(prior="Laplace", C=1.0).summary == (
        "Laplace prior, λ = 4, C = 1, axi: posterior mean (0.67, 0.67), mode (0.00, 0.00), slack "
        "0.67, α: aax 1.00; 58% of the posterior on the wrong side of the line of aax."
    )


def test_what_there_is_not_is_refused():
    for attempt, said in (
        (lambda: shrinkage_curve("Laplace", LaplacePrior(4.0), 3, 4), "no eta from 3 to 4 is in"),
        (lambda: tangent_frame("exponential", 0.5), "one of Gaussian, Laplace, box, two-point"),
        (lambda: two_weights_frame("Cauchy"), "no prior 'Cauchy'"),
        (lambda: two_weights_frame(n_words=4), "n_words is 4"),
    ):
        with pytest.raises(ValueError, match=said):
            attempt()
