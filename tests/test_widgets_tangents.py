"""The explorer of tangents: slopes are means, intercepts divergences, and the picture shows both."""

from __future__ import annotations

import numpy as np
import pytest

from medn_edu.explorers import tangents
from medn_edu.explorers.tangents import PRIORS, tangent_frame
from medn_edu.theory.medn_solvers import legendre


@pytest.fixture
def explorer():
    return tangents()


def marks(ax, marker):
    return [line for line in ax.lines if line.get_marker() == marker]


def words(explorer):
    return [t.get_text() for ax in explorer.figure.axes for t in ax.texts if t.get_visible()]


def test_lessons_can_fail(explorer):
    mirrored, runs_away, saturates = explorer.lessons
    assert not mirrored.holds(prior="Laplace", eta=1.6)
    assert not mirrored.holds(prior="Gaussian", eta=0.0)
    assert not runs_away.holds(prior="Laplace", eta=1.5)
    assert not runs_away.holds(prior="Gaussian", eta=1.9)
    assert not saturates.holds(prior="box", eta=2.5)
    assert not saturates.holds(prior="two-point", eta=1.0)


@pytest.mark.parametrize("name", PRIORS)
def test_the_tangent_tells_mean_and_divergence(name):
    """The mean and the divergence by a search of its own; no point lies below the tangent."""
    for eta in (-1.9, -0.4, 0.0, 0.1, 1.5):
        frame = tangent_frame(name, eta)
        value, place = legendre(frame.tilted.prior, np.array([frame.slope]))
        assert -frame.intercept == pytest.approx(value[0], abs=1e-9)
        assert frame.kl == pytest.approx(value[0], abs=1e-9)
        assert place[0] == pytest.approx(eta, abs=1e-6)
        t, heights = frame.curve
        assert np.all(heights >= frame.intercept + frame.slope * t - 1e-12)
        mu, costs = frame.conjugate
        assert np.all(costs >= eta * mu - frame.height - 1e-12)


@pytest.mark.parametrize("name", PRIORS)
def test_the_figure_shows_the_frame(explorer, name):
    frame = tangent_frame(name, -1.2)
    explorer.set(prior=name, eta=-1.2).frame()
    _, curve, conjugate = explorer.figure.axes
    tangent = next(line for line in curve.lines if line.get_linestyle() == "--")
    assert np.polyfit(*tangent.get_data(), 1) == pytest.approx([frame.slope, -frame.kl])
    assert [dot.get_xydata().tolist() for dot in marks(curve, "o")] == [[[-1.2, frame.height]]]
    assert [dot.get_xydata().tolist() for dot in marks(conjugate, "o")] == [
        [[frame.slope, frame.kl]]
    ]
    pieces = [(0, [0, frame.intercept]), (frame.slope, [0, frame.kl])]
    for ax, (x, ends) in zip((curve, conjugate), pieces, strict=True):
        piece = next(line for line in ax.lines if line.get_linewidth() == 5)
        assert piece.get_xydata().tolist() == [[x, ends[0]], [x, ends[1]]]
    assert {f"−Λ*(μ) = −{frame.kl:.2f}", f"mean {frame.slope:.2f}"} <= set(words(explorer))


def test_an_intercept_far_below_is_marked_at_the_edge(explorer):
    _, curve, conjugate = explorer.figure.axes
    explorer.set(prior="Laplace", eta=1.9).frame()
    (cut,) = marks(curve, "v")
    piece = next(line for line in curve.lines if line.get_linewidth() == 5)
    assert curve.get_ylim()[0] < cut.get_ydata()[0] == piece.get_ydata()[1]
    (point,) = marks(conjugate, "o")
    assert not point.get_visible()
    assert "KL = Λ*(9.74) = 16.18, outside" in words(explorer)
    explorer.set(prior="Laplace", eta=0.5).frame()
    assert cut.get_marker() == "s"
    assert point.get_visible()


def test_outside_the_domain_there_is_no_tangent(explorer):
    explorer.set(prior="Laplace", eta=2.0).frame()
    _, curve, conjugate = explorer.figure.axes
    for ax in (curve, conjugate):
        moving = [*marks(ax, "o"), *marks(ax, "s")]
        moving += [line for line in ax.lines if line.get_linestyle() == "--"]
        assert not any(artist.get_visible() for artist in moving)
    said = words(explorer)
    assert "Λ(η) = ∞: no point, no tangent" in said
    assert not any("μ" in text or "KL" in text for text in said)
    assert explorer.summary.endswith("Λ is infinite, for it is finite only if -2.00 < η < 2.00.")
    assert "without a tangent" in explorer.frame().alt


def test_summary_and_alternative_text(explorer):
    explorer.set(prior="two-point", eta=1.0)
    height, slope = np.log(np.cosh(1)), np.tanh(1)
    expected = (
        f"height Λ(η) = {height:.2f}, slope μ = {slope:.2f}, intercept {height - slope:.2f}, so "
        f"KL(p‖p0) = "
    )
    assert expected in explorer.summary
    assert "0.33 at the mean 0.76" in explorer.frame().alt
    for name, eta in (("Gaussian", 0.0), ("box", -0.1)):
        explorer.set(prior=name, eta=eta)
        assert "-0.00" not in explorer.summary + explorer.frame().alt


def test_unknown_priors_are_refused():
    with pytest.raises(ValueError, match="expected one of Gaussian, Laplace, box, two-point"):
        tangent_frame("exponential", 0.5)
