"""The explorer of two weights shows solutions of P1 and D1; its lessons can fail."""

from __future__ import annotations

import numpy as np
import pytest

from medn_edu.explorers import two_weights
from medn_edu.explorers.two_weights import PRIORS, two_weights_frame


@pytest.fixture
def explorer():
    return two_weights()


def test_lessons_can_fail(explorer):
    mode_stays, one_labelling, half_below, true_takes_the_rest = explorer.lessons
    assert not mode_stays.holds(prior="Gaussian", C=3.0, lam=4, words="axi")
    assert not one_labelling.holds(prior="Gaussian", C=0.4, lam=4, words="axi")
    assert not half_below.holds(prior="Laplace", C=1.0, lam=4, words="axi")
    assert not true_takes_the_rest.holds(prior="Gaussian", C=0.7, lam=4, words="axi")


@pytest.mark.parametrize("name", PRIORS)
def test_shares_and_means_agree_with_draws(name):
    frame = two_weights_frame(name, 0.4, 4.0, 1)
    draws = frame.prior.draw(frame.eta, np.random.default_rng(0), 40_000)
    difference = frame.problem.differences[frame.rows]
    assert np.allclose(draws.mean(axis=0), frame.mean, atol=0.02)
    missing = (draws @ difference.T < frame.wanted - 1e-9).mean(axis=0)
    assert np.allclose(missing, frame.missing, atol=0.01)


def test_the_figure_shows_the_frame(explorer):
    frame = two_weights_frame("Gaussian", 0.4, 4.0, 1)
    explorer.set(prior="Gaussian", C=0.4).frame()
    plane, bars = explorer.figure.axes
    (mean,) = (line for line in plane.lines if line.get_marker() == "o")
    assert mean.get_xydata().tolist() == [frame.mean.tolist()]
    shown = [bar for bar in bars.patches if bar.get_visible()][: len(frame.slots)]
    assert np.allclose([bar.get_width() * 0.4 for bar in shown], frame.alpha)
    lines = [line for line in plane.lines if line.get_linewidth() == 2.2 and line.get_visible()]
    assert len(lines) == 2  # aax and xax tie
    for line in lines:
        (x0, y0), (x1, y1) = line.get_xydata()
        away = (x1 - x0) * (frame.mean[1] - y0) - (y1 - y0) * (frame.mean[0] - x0)
        assert abs(away) / np.hypot(x1 - x0, y1 - y0) < 1e-6  # the mean is on the line
    rows = {
        k: [t.get_text() for t in bars.texts if t.get_position()[1] == k] for k in (0, 1)
    }  # a name and a value each
    assert rows == {0: ["aax", "0.35"], 1: ["aai", "0"]}
    (region,) = (patch for patch in plane.patches if patch.get_hatch())
    for corner in region.get_xy():
        mean = corner + 1e-6 * (np.array([2.5, 2.5]) - corner)
        assert frame.problem.xi(mean)[0] < 1e-5


def test_summary_and_alternative_text(explorer):
    explorer.set(prior="Laplace", C=1.0, lam=4, words="axi")
    assert explorer.summary == (
        "Laplace prior, λ = 4, C = 1, axi: posterior mean (0.67, 0.67), mode (0.00, 0.00), slack "
        "0.67, α: aax 1.00; 58% of the posterior on the wrong side of the line of aax."
    )
    assert "mean at (0.67, 0.67), its mode at (0.00, 0.00)" in explorer.frame().alt


def test_refusals():
    with pytest.raises(ValueError, match="no prior 'Cauchy'"):
        two_weights_frame("Cauchy")
    with pytest.raises(ValueError, match="n_words is 4"):
        two_weights_frame(n_words=4)
