"""The KL-norm is the divergence, shifted and scaled; balls are level curves to the last digit."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import lambertw

from medn_edu.priors import (
    BoxPrior,
    ExponentialPrior,
    GaussianPrior,
    LaplacePrior,
    NormalGammaPrior,
    NormalInverseGaussianPrior,
    SpikeSlabPrior,
    TwoPointPrior,
)
from medn_edu.theory import kl_ball, kl_norm, norm_ball

LAMS = (0.5, 4.0, 36.0, 1e4)
MEANS = np.array([0.0, 1e-3, -0.3, 1.0, -7.0])


def divergence(mu: float, lam: float) -> float:
    """Lambda*(mu) by its definition, maximised by golden section."""
    end = np.sqrt(lam) * (1 - 1e-12)
    found = minimize_scalar(
        lambda eta: -(eta * mu + np.log(1 - eta**2 / lam)),
        bounds=(-end, end), method="bounded", options={"xatol": 1e-12},
    )  # fmt: skip
    return -found.fun


@pytest.mark.parametrize("lam", LAMS)
def test_corollary_6(lam):
    expected = sum(divergence(mu, lam) for mu in MEANS)
    assert np.sqrt(lam) * kl_norm(MEANS, lam) - len(MEANS) == pytest.approx(expected, abs=1e-8)
    assert LaplacePrior(lam).kl(MEANS).sum() == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("lam", LAMS)
def test_footnote_3_it_is_not_a_norm(lam):
    least = len(MEANS) / np.sqrt(lam)
    assert kl_norm(0 * MEANS, lam) == pytest.approx(least)
    assert kl_norm(MEANS, lam) > least
    assert kl_norm(2 * MEANS, lam) != pytest.approx(2 * kl_norm(MEANS, lam), rel=1e-3)
    assert kl_norm(-MEANS, lam) == kl_norm(MEANS, lam)
    grown = [kl_norm(scale * MEANS, lam) for scale in (0, 0.5, 1, 2, 50)]
    assert (np.diff(grown) > 0).all()


def test_it_lies_between_two_norms():
    small, lam = 1e-3 * MEANS, 4.0
    near = len(MEANS) / np.sqrt(lam) + np.sqrt(lam) * np.sum(small**2) / 4
    assert kl_norm(small, lam) == pytest.approx(near, rel=1e-6)
    distances = [kl_norm(MEANS, lam) - np.abs(MEANS).sum() for lam in (1e4, 1e8, 1e12)]
    assert np.abs(distances[-1]) < 1e-4
    assert (np.diff(np.abs(distances)) < 0).all()


def test_the_boundary_printed_with_figure_2_is_no_divergence():
    """With the logarithm as it stands in the text the divergence at 0 would be negative."""
    lam, w = 4.0, np.array([0.0, 1.0])
    root = np.sqrt(w**2 + 1 / lam)
    as_in_the_text = root - np.log(np.sqrt(lam * w**2 + 0.5) + 0.5) / np.sqrt(lam)
    corrected = root - np.log(np.sqrt(lam * w**2 + 1) / 2 + 0.5) / np.sqrt(lam)
    assert np.sqrt(lam) * as_in_the_text[0] - 1 == pytest.approx(-np.log(np.sqrt(0.5) + 0.5))
    np.testing.assert_allclose(np.sqrt(lam) * corrected - 1, LaplacePrior(lam).kl(w), atol=1e-12)
    b = np.sqrt(1 / lam) + np.sqrt(1 + 1 / lam) - np.log(np.sqrt(lam + 1) / 2 + 0.5) / np.sqrt(lam)
    assert b == pytest.approx(kl_norm(np.array([0.0, 1.0]), lam))


def test_l1_and_l2_balls():
    l1, l2 = norm_ball(np.abs), norm_ball(np.square)
    np.testing.assert_allclose(np.abs(l1).sum(axis=1), 1, atol=1e-14)
    np.testing.assert_allclose(np.hypot(*l2.T), 1, atol=1e-14)
    for ball in (l1, l2):
        assert (ball[0] == ball[-1]).all()
        for corner in ([1, 0], [0, 1], [-1, 0], [0, -1]):
            assert np.abs(ball - corner).max(axis=1).min() < 1e-14


def test_footnote_5():
    """On each ray from the origin the coordinates solve 2x - log x = a, here by Lambert's W."""
    lam = 36.0
    ball = kl_ball(LaplacePrior(lam))
    budget = LaplacePrior(lam).kl(np.array([0.0, 1.0])).sum()
    left = budget - LaplacePrior(lam).kl(ball[:, 0])
    x = -lambertw(-2 * np.exp(-(left + 2)), -1).real / 2
    height = np.sqrt(np.maximum((2 * x - 1) ** 2 - 1, 0) / lam)
    away = np.abs(ball[:, 1]) > 1e-3  # near zero the root loses half the digits
    np.testing.assert_allclose(height[away], np.abs(ball[away, 1]), rtol=1e-8)


def test_kl_balls_grow_from_the_l1_ball_to_the_l2_ball():
    """At 45 degrees the radius falls from that of a circle to that of the diamond."""
    radii = [np.hypot(*kl_ball(LaplacePrior(lam), n_angles=9)[1]) for lam in (1e-6, 1, 4, 36, 1e9)]
    assert radii[0] == pytest.approx(1, abs=1e-5)
    assert radii[-1] == pytest.approx(np.sqrt(0.5), abs=1e-3)
    assert (np.diff(radii) < 0).all()


PRIORS = [
    (GaussianPrior(2.0), (0.3, 1.0)),
    (LaplacePrior(4.0), (0.0, 1.0)),
    (NormalGammaPrior(shape=2.0, lam=4.0), (0.0, 1.0)),
    (NormalInverseGaussianPrior(alpha=2.0, delta=1.0), (0.0, 1.0)),
    (BoxPrior(a=1.0), (0.0, 0.5)),
    (TwoPointPrior(a=1.0), (0.0, 0.8)),
    (ExponentialPrior(rate=2.0), (0.5, 1.5)),
    (SpikeSlabPrior(pi=0.1, slab_variance=1.0), (0.0, 1.0)),
]


@pytest.mark.parametrize(("prior", "point"), PRIORS, ids=lambda item: type(item).__name__)
def test_every_prior_has_convex_balls(prior, point):
    ball = kl_ball(prior, point, n_angles=101)
    level = prior.kl(np.array(point)).sum()
    np.testing.assert_allclose(prior.kl(ball).sum(axis=1), level, rtol=1e-6)
    centre = prior.mean(np.zeros(1))[0]
    steps = np.diff(ball, axis=0)
    turns = steps[:-1, 0] * steps[1:, 1] - steps[:-1, 1] * steps[1:, 0]
    assert (turns > -1e-9).all(), "the boundary turns one way only"
    assert (np.abs(ball - centre).max(axis=1) > 0).all()


def test_a_ball_may_end_where_no_mean_can_be():
    """Two points: a large budget allows all means of the square but the corners."""
    ball = kl_ball(TwoPointPrior(a=1.0), (0.97, 0.0), n_angles=9)
    assert np.abs(ball).max() <= 1
    ball = norm_ball(TwoPointPrior(a=1.0).kl, (0.95, 0.95), n_angles=9)
    assert np.abs(ball[[0, 2, 4, 6]]).max(axis=1) == pytest.approx(1)


@pytest.mark.parametrize("point", [(0.0, 0.0), (0.0, np.inf), (0.0, 2.0)])
def test_points_that_cannot_lie_on_a_boundary(point):
    with pytest.raises(ValueError, match="expected a point whose cost is finite and higher"):
        kl_ball(BoxPrior(a=1.0), point)


@pytest.mark.parametrize("n_angles", [0, 4, 360])
def test_too_few_angles(n_angles):
    with pytest.raises(ValueError, match="expected 5, 9, 13"):
        norm_ball(np.abs, n_angles=n_angles)


def test_a_cost_without_end():
    with pytest.raises(ValueError, match="no end in some direction"):
        norm_ball(lambda mu: np.maximum(mu, 0.0))


@pytest.mark.parametrize("lam", [0, -1, np.inf, np.nan])
def test_the_constant_is_positive(lam):
    with pytest.raises(ValueError, match="lam is"):
        kl_norm(MEANS, lam)
