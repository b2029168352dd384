"""The explorer of two weights shows solutions of P1 and D1; its lessons can fail."""

from __future__ import annotations

import numpy as np
import pytest

from medn_edu.explorers import two_weights
from medn_edu.explorers.two_weights import PRIORS, TwoWeights, two_weights_frame
from medn_edu.theory.axi import text


@pytest.fixture(scope="module")
def explorer():
    return two_weights()


def test_lessons(explorer):
    for lesson in explorer.lessons:
        assert explorer.check(lesson), lesson.fact


def test_lessons_can_fail(explorer):
    mode_stays, one_labelling, half_below, true_takes_the_rest = explorer.lessons
    assert not mode_stays.holds("Gaussian", 3.0, 4, "axi")
    assert not one_labelling.holds("Gaussian", 0.4, 4, "axi")
    assert not half_below.holds("Laplace", 1.0, 4, "axi")
    assert not true_takes_the_rest.holds("Gaussian", 0.7, 4, "axi")


@pytest.mark.parametrize("name", PRIORS)
def test_shares_and_means_agree_with_draws(name):
    frame = two_weights_frame(name, 0.4, 4.0, 1)
    draws = frame.prior.draw(frame.eta, np.random.default_rng(0), 40_000)
    difference = frame.problem.differences[frame.rows]
    assert np.allclose(draws.mean(axis=0), frame.mean, atol=0.02)
    assert np.allclose(
        (draws @ difference.T < frame.wanted - 1e-9).mean(axis=0), frame.missing, atol=0.01
    )


def test_the_figure_shows_the_frame():
    drawn = TwoWeights()
    frame = two_weights_frame("Gaussian", 0.4, 4.0, 1)
    drawn.show(frame)
    assert np.allclose(np.ravel(drawn._mean.get_data()), frame.mean)
    assert np.allclose(
        [bar.get_width() * 0.4 for bar in drawn._bars[: len(frame.slots)]], frame.alpha
    )
    visible = [line for line in drawn._lines if line.get_visible()]
    assert len(visible) == 2  # aax and xax tie
    for line in visible:
        (x0, y0), (x1, y1) = line.get_xydata()
        away = (x1 - x0) * (frame.mean[1] - y0) - (y1 - y0) * (frame.mean[0] - x0)
        assert abs(away) / np.hypot(x1 - x0, y1 - y0) < 1e-6  # the mean is on the line
    values = {
        slot.name: label.get_text() for slot, label in zip(frame.slots, drawn._values, strict=False)
    }
    assert values["aax"] == "0.35"
    assert values["aai"] == "0"
    for corner in drawn._region.get_xy():
        mean = corner + 1e-6 * (np.array([2.5, 2.5]) - corner)
        assert frame.problem.xi(mean)[0] < 1e-5


def test_summary_and_alternative_text(explorer):
    explorer.set(prior="Laplace", C=1.0, lam=4, words="axi")
    assert explorer.summary == (
        "Laplace prior, λ = 4, C = 1, axi: posterior mean (0.67, 0.67), mode (0.00, 0.00), slack "
        "0.67, α: aax 1.00; 58% of the posterior on the wrong side of the line of aax."
    )
    assert "mean at (0.67, 0.67), its mode at (0.00, 0.00)" in explorer.frame().alt


def test_each_control_changes_picture_and_summary(explorer):
    explorer.set(prior="Laplace", C=1.0, lam=4, words="axi")
    start = explorer.frame()
    for moved in ({"prior": "box"}, {"C": 1.25}, {"lam": 5}, {"words": "axi, xia, iax"}):
        frame = explorer.set(**moved).frame()
        assert frame.png != start.png
        assert frame.summary != start.summary
        explorer.set(prior="Laplace", C=1.0, lam=4, words="axi")
    assert text([0, 0, 1]) in start.summary


def test_refusals():
    with pytest.raises(ValueError, match="no prior 'Cauchy'"):
        two_weights_frame("Cauchy")
    with pytest.raises(ValueError, match="n_words is 4"):
        two_weights_frame(n_words=4)
