"""The explorer of tangents: slopes are means, intercepts divergences, and the picture shows both."""

from __future__ import annotations

import numpy as np
import pytest

from medn_edu.explorers import tangents
from medn_edu.explorers.tangents import PRIORS, Tangents, tangent_frame
from medn_edu.theory.medn_solvers import legendre


@pytest.fixture(scope="module")
def explorer():
    return tangents()


@pytest.fixture(scope="module")
def drawn():
    return Tangents()


def test_lessons(explorer):
    assert len(explorer.lessons) == 3
    for lesson in explorer.lessons:
        assert explorer.check(lesson), lesson.fact


def test_lessons_can_fail(explorer):
    mirrored, runs_away, saturates = explorer.lessons
    assert not mirrored.holds("Laplace", 1.6)
    assert not mirrored.holds("Gaussian", 0.0)
    assert not runs_away.holds("Laplace", 1.5)
    assert not runs_away.holds("Gaussian", 1.9)
    assert not saturates.holds("box", 2.5)
    assert not saturates.holds("two-point", 1.0)


@pytest.mark.parametrize("eta", [-1.9, -0.4, 0.0, 0.1, 1.5])
@pytest.mark.parametrize("name", PRIORS)
def test_the_tangent_tells_mean_and_divergence(name, eta):
    """The mean and the divergence by a search of its own, and by sums over the drawn density."""
    frame = tangent_frame(name, eta)
    value, place = legendre(frame.tilted.prior, np.array([frame.slope]))
    assert -frame.intercept == pytest.approx(value[0], abs=1e-9)
    assert frame.kl == pytest.approx(value[0], abs=1e-9)
    assert place[0] == pytest.approx(eta, abs=1e-6)
    t, heights = frame.curve
    assert np.all(heights >= frame.intercept + frame.slope * t - 1e-12)
    mu, costs = frame.conjugate
    assert np.all(costs >= eta * mu - frame.height - 1e-12)


def test_the_figure_shows_the_frame(drawn):
    for name in PRIORS:
        frame = tangent_frame(name, -1.2)
        drawn.show(frame)
        t, heights = drawn._tangent.get_data()
        assert np.polyfit(t, heights, 1) == pytest.approx([frame.slope, -frame.kl])
        assert drawn._point.get_xydata().tolist() == [[-1.2, frame.height]]
        assert list(drawn._intercept.get_ydata()) == [0, frame.intercept]
        assert drawn._cost_point.get_xydata().tolist() == [[frame.slope, frame.kl]]
        assert list(drawn._cost.get_ydata()) == [0, frame.kl]
        texts = [text.get_text() for ax in drawn.figure.axes for text in ax.texts]
        assert f"−Λ*(μ) = −{frame.kl:.2f}" in texts
        assert f"mean {frame.slope:.2f}" in texts


def test_an_intercept_far_below_is_marked_at_the_edge(drawn):
    drawn.show(tangent_frame("Laplace", 1.9))
    low, _ = drawn.figure.axes[1].get_ylim()
    assert drawn._cut.get_marker() == "v"
    assert low < drawn._cut.get_ydata()[0] == drawn._intercept.get_ydata()[1]
    assert not drawn._cost_point.get_visible()
    assert drawn._cost_text.get_text() == "KL = Λ*(9.74) = 16.18, outside"
    drawn.show(tangent_frame("Laplace", 0.5))
    assert drawn._cut.get_marker() == "s"
    assert drawn._cost_point.get_visible()


def test_outside_the_domain_there_is_no_tangent(explorer, drawn):
    drawn.show(tangent_frame("Laplace", 2.0))
    assert not any(artist.get_visible() for artist in drawn._only_inside)
    assert drawn._no_point.get_visible()
    explorer.set(prior="Laplace", eta=2.0)
    assert explorer.summary.endswith("Λ is infinite, for it is finite only if -2.00 < η < 2.00.")
    assert "without a tangent" in explorer.frame().alt


def test_summary_and_alternative_text(explorer):
    explorer.set(prior="two-point", eta=1.0)
    expected = (
        f"height Λ(η) = {np.log(np.cosh(1)):.2f}, slope μ = {np.tanh(1):.2f}, intercept "
        f"{np.log(np.cosh(1)) - np.tanh(1):.2f}, so KL(p‖p0) = "
    )
    assert expected in explorer.summary
    assert "0.33 at the mean 0.76" in explorer.frame().alt
    for name, eta in (("Gaussian", 0.0), ("box", -0.1)):
        explorer.set(prior=name, eta=eta)
        assert "-0.00" not in explorer.summary + explorer.frame().alt


def test_unknown_priors_are_refused(explorer):
    with pytest.raises(ValueError, match="expected one of Gaussian, Laplace, box, two-point"):
        tangent_frame("exponential", 0.5)
    with pytest.raises(ValueError, match="no control"):
        explorer.set(lam=4)
