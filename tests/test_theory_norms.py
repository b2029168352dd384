"""The KL-norm is the divergence, shifted and scaled; balls are level curves to the last digit."""

import numpy as np
import pytest
from optimality import assert_touches
from priors_gallery import Own

from medn_edu import priors
from medn_edu.theory.norms import (
    kl_ball,
    kl_level,
    kl_norm,
    kl_solid,
    l1_ball_error,
    l1_error,
    l2_ball_error,
    norm_ball,
    norm_solid,
    quadratic_error,
    touching_corners,
    touching_l2,
    touching_point,
)

MEANS = np.array([0.0, 1e-3, -0.3, 1.0, -7.0])
PRIORS = [
    (priors.GaussianPrior(2.0), (0.3, 1.0)),
    (priors.LaplacePrior(4.0), (0.0, 1.0)),
    (priors.NormalGammaPrior(shape=2.0, lam=4.0), (0.0, 1.0)),
    (priors.NormalInverseGaussianPrior(alpha=2.0, delta=1.0), (0.0, 1.0)),
    (priors.BoxPrior(a=1.0), (0.0, 0.5)),
    (priors.TwoPointPrior(a=1.0), (0.0, 0.8)),
    (priors.ExponentialPrior(rate=2.0), (0.0, 1.0)),
    (priors.SpikeSlabPrior(pi=0.1, slab_variance=1.0), (0.0, 1.0)),
]
each_prior = pytest.mark.parametrize(
    ("prior", "point"), PRIORS, ids=lambda item: type(item).__name__
)


@each_prior
def test_every_prior_has_convex_balls_and_solids(prior, point):
    ball = kl_ball(prior, point, n_angles=101)
    level = kl_level(prior, point)
    assert level == prior.kl(prior.mean(np.zeros(2)) + point).sum()
    np.testing.assert_allclose(prior.kl(ball).sum(axis=1), level, rtol=1e-6)
    centre = prior.mean(np.zeros(1))[0]
    steps = np.diff(ball, axis=0)
    turns = steps[:-1, 0] * steps[1:, 1] - steps[:-1, 1] * steps[1:, 0]
    assert (turns > -1e-9).all(), "the boundary turns one way only"
    assert (np.abs(ball - centre).max(axis=1) > 0).all()
    solid = kl_solid(prior, (0.0, *point), n_polar=9, n_azimuth=13)
    level = kl_level(prior, (0.0, *point))
    np.testing.assert_allclose(prior.kl(solid).sum(axis=-1), level, rtol=1e-6)


def test_a_ball_may_end_where_no_mean_can_be():
    """Two points: a large budget allows all means of the square but the corners."""
    ball = kl_ball(priors.TwoPointPrior(a=1.0), (0.97, 0.0), n_angles=9)
    assert np.abs(ball).max() <= 1
    ball = norm_ball(priors.TwoPointPrior(a=1.0).kl, (0.95, 0.95), n_angles=9)
    assert np.abs(ball[[0, 2, 4, 6]]).max(axis=1) == pytest.approx(1)


def test_balls_of_any_size():
    """The radius has its digits, whether the ball is tiny or huge."""
    for size in (1e-200, 1e-9, 1e9, 1e200):
        ball = norm_ball(np.abs, (0.0, size), n_angles=13)
        np.testing.assert_allclose(np.abs(ball).sum(axis=1), size, rtol=1e-14)


@each_prior
def test_kl_norm_of_every_prior(prior, point):
    means, lam = prior.mean(np.zeros(2)) + point, 4.0
    eta = np.linspace(*np.clip(prior.domain, -60, 60), 200_001)[1:-1]
    conjugates = [np.max(eta * mu - prior.log_mgf(eta)) for mu in means]
    assert kl_norm(means, lam, prior) == pytest.approx((sum(conjugates) + 2) / 2, abs=1e-5)


def test_slope_of_the_kl_norm():
    """The natural parameter as a share of the largest; so the norm is convex, even, and no norm."""
    h = 1e-6
    for lam in (0.5, 4.0, 400.0):
        for share in (-0.95, -0.3, 0.0, 0.5):
            mu = float(priors.LaplacePrior(lam).mean(share * np.sqrt(lam)))
            slope = (kl_norm(mu + h, lam) - kl_norm(mu - h, lam)) / (2 * h)
            assert slope == pytest.approx(share, abs=1e-5)
        other = MEANS[::-1] + 0.3
        assert kl_norm((MEANS + other) / 2, lam) < (kl_norm(MEANS, lam) + kl_norm(other, lam)) / 2
        assert kl_norm(-MEANS, lam) == kl_norm(MEANS, lam)
        assert kl_norm(0 * MEANS, lam) == pytest.approx(len(MEANS) / np.sqrt(lam))
        assert kl_norm(2 * MEANS, lam) != pytest.approx(2 * kl_norm(MEANS, lam), rel=1e-3)


def test_corollary_6_and_large_means():
    """Scaled by the end of its domain every such prior's norm grows like L1."""
    far = np.array([1e9, -2e9])
    for lam in (0.5, 4.0, 36.0, 1e4):
        laplace = priors.LaplacePrior(lam)
        assert kl_norm(MEANS, lam) == pytest.approx(kl_norm(MEANS, lam, laplace), rel=1e-12)
        alike = priors.NormalInverseGaussianPrior(lam**0.5, 0.5), priors.NormalGammaPrior(3.0, lam)
        for prior in (laplace, *alike):
            assert prior.domain[1] == pytest.approx(np.sqrt(lam))
            assert kl_norm(far, lam, prior) == pytest.approx(np.abs(far).sum(), rel=1e-6)


@pytest.mark.parametrize(("boundary", "n"), [(norm_ball, 2), (norm_solid, 3)])
def test_balls_of_l1_and_l2_are_closed_and_have_corners(boundary, n):
    l1, l2 = boundary(np.abs), boundary(np.square)
    np.testing.assert_allclose(np.abs(l1).sum(axis=-1), 1, atol=1e-14)
    np.testing.assert_allclose(np.linalg.norm(l2, axis=-1), 1, atol=1e-14)
    for ball in (l1, l2):
        np.testing.assert_array_equal(ball[..., 0, :], ball[..., -1, :])
        for corner in np.concatenate([np.eye(n), -np.eye(n)]):
            assert np.abs(ball - corner).max(axis=-1).min() < 1e-14


def test_no_mesh_cell_of_the_octahedron_spans_an_edge():
    """Every cell lies within one of the eight faces, so that edges are edges."""
    octahedron = norm_solid(np.abs, n_polar=21, n_azimuth=41)
    corners = np.stack(
        [octahedron[:-1, :-1], octahedron[1:, :-1], octahedron[:-1, 1:], octahedron[1:, 1:]]
    )
    assert np.all((corners.max(axis=0) <= 1e-14) | (corners.min(axis=0) >= -1e-14))


def test_a_cut_through_a_solid_is_a_ball():
    prior = priors.LaplacePrior(36.0)
    ball, solid = kl_ball(prior, n_angles=13), kl_solid(prior, n_polar=5, n_azimuth=13)
    np.testing.assert_allclose(solid[2, :, :2], ball, atol=1e-14)
    np.testing.assert_allclose(solid[2, :, 2], 0, atol=1e-15)


def order(errors, sizes):
    """Slope of the errors against the sizes, both in logarithms."""
    return np.polyfit(np.log(sizes), np.log(np.abs(errors)), 1)[0]


def test_errors_are_what_they_say():
    for lam in (1e-3, 4.0, 1e4):
        rise = kl_norm(MEANS, lam) - len(MEANS) / np.sqrt(lam)
        parabola = np.sqrt(lam) * np.sum(MEANS**2) / 4
        assert quadratic_error(MEANS, lam) == pytest.approx(
            rise / parabola - 1, rel=1e-9, abs=1e-11
        )
        distance = kl_norm(MEANS, lam) - np.abs(MEANS).sum()
        assert l1_error(MEANS, lam) == pytest.approx(distance, rel=1e-9, abs=1e-12)
    with pytest.raises(ValueError, match="mu is 0"):
        quadratic_error(np.zeros(2), 1.0)


def test_rate_towards_l1():
    """log(lam) / sqrt(lam), half of it for each weight that is not 0, and order 1 once that is gone."""
    lams = np.logspace(8, 14, 13)
    errors = np.array([l1_error(MEANS, lam) for lam in lams])
    slope, _ = np.polyfit(np.log(lams), errors * np.sqrt(lams), 1)
    moved = MEANS[MEANS != 0]
    assert slope == pytest.approx(-len(moved) / 2, rel=2e-2)
    zeros = len(MEANS) - len(moved)
    logs = np.array([np.log(np.sqrt(lam) * np.abs(moved) / 2).sum() for lam in lams])
    left = errors - (zeros - logs) / np.sqrt(lams)
    assert order(left, lams) == pytest.approx(-1, abs=0.02)


def test_rates_towards_l2():
    lams = np.logspace(-8, -4, 9)
    curvature = -np.sum(MEANS**4) / np.sum(MEANS**2) / 8
    for error, leading in (
        (lambda lam: quadratic_error(MEANS, lam), curvature),
        (l2_ball_error, 1 / 32),
    ):
        errors = [error(lam) for lam in lams]
        assert order(errors, lams) == pytest.approx(1, abs=1e-3)
        assert errors[0] / lams[0] == pytest.approx(leading, rel=1e-5)


def test_rate_of_balls_towards_l1():
    """At 45 degrees: (1 + log(sqrt(lam) / 8)) / sqrt(2 lam), and order 1 once that is gone."""
    lams = np.logspace(8, 14, 7)
    errors = np.array([l1_ball_error(lam) for lam in lams])
    assert order(errors / np.log(lams), lams) == pytest.approx(-0.5, abs=0.02)
    assert order(errors, lams) > -0.48, "without the logarithm it is not 1/2"
    diagonal = np.array([l1_ball_error(lam, n_angles=9) for lam in lams])
    leading = (1 + np.log(np.sqrt(lams) / 8)) / np.sqrt(2 * lams)
    assert order(diagonal - leading, lams) < -0.85


DIRECTIONS = [(2.0, 1.0), (-0.3, 3.0), (1.0, 0.0), (5.0, 5.0), (-3.0, 0.3), (-1.0, -1.0)]


@pytest.mark.parametrize("direction", DIRECTIONS)
@each_prior
def test_touching_point(prior, point, direction):
    """On the ball's boundary, and where the ball's slope is along the direction."""
    a, level = np.array(direction), kl_level(prior, point)
    touching = touching_point(prior, a, level)
    assert prior.kl(touching).sum() == pytest.approx(level, rel=1e-8)
    assert_touches(lambda mu: prior.kl(mu).sum(), touching, a)


@pytest.mark.parametrize("n_weights", [1, 5])
def test_touching_in_other_dimensions(n_weights):
    a = np.random.default_rng(0).normal(size=n_weights)
    for level in (1e-8, 1.0, 50.0):
        gaussian = touching_point(priors.GaussianPrior(2.0), a, level)
        np.testing.assert_allclose(gaussian, touching_l2(a, np.sqrt(4 * level)), rtol=1e-12)
        laplace = touching_point(priors.LaplacePrior(4.0), a, level)
        assert priors.LaplacePrior(4.0).kl(laplace).sum() == pytest.approx(level, rel=1e-9)
    corners = touching_corners([1.0, -1.0, 0.5], radius=2.0)
    np.testing.assert_array_equal(corners, [[2, 0, 0], [0, -2, 0]])
    assert len(touching_corners([0.3, 0.29])) == 1


def test_priors_of_ones_own():
    """Told by three functions only; or with a variance for each weight."""
    prior, a = priors.LaplacePrior(4.0), np.array([2.0, -0.3])
    level = kl_level(prior, (0.0, 1.0))
    assert kl_level(Own(prior), (0.0, 1.0)) == pytest.approx(level, rel=1e-9)
    np.testing.assert_allclose(
        touching_point(Own(prior), a, level), touching_point(prior, a, level), rtol=1e-8
    )
    np.testing.assert_allclose(
        kl_ball(Own(prior), n_angles=13), kl_ball(prior, n_angles=13), atol=1e-8
    )
    variances = np.array([1.0, 9.0])
    touching = touching_point(priors.GaussianPrior(variances), a, 0.5)
    assert np.sum(touching**2 / variances) == pytest.approx(1, rel=1e-12)
    np.testing.assert_allclose(touching / touching[0], variances * a / a[0], rtol=1e-12)


@pytest.mark.parametrize(
    "prior", [priors.LaplacePrior(4.0), priors.GaussianPrior([1.0, 9.0]), priors.TwoPointPrior(1.0)]
)
def test_many_levels_at_once(prior):
    a, levels = np.array([2.0, -0.3]), np.array([1e-3, 0.5, 7.0])
    each = [touching_point(prior, a, level) for level in levels]
    np.testing.assert_array_equal(touching_point(prior, a, levels), each)
    with pytest.raises(ValueError, match="level"):
        touching_point(prior, a, [1.0, 0.0])


def test_pseudo_sparse():
    """From the L2 ball's point to the L1 ball's corner: the small weights fall, and never to zero."""
    a = np.array([2.0, 1.9, 0.1])
    points = []
    for lam in np.logspace(-6, 16, 12):
        prior = priors.LaplacePrior(lam)
        points.append(touching_point(prior, a, kl_level(prior, (0.0, 0.0, 1.0))))
        assert np.all(points[-1] > 0)
    assert np.all(np.diff(np.array(points)[:, 2]) < 0)
    np.testing.assert_allclose(points[0], touching_l2(a), atol=1e-5)
    np.testing.assert_allclose(points[-1], touching_corners(a)[0], atol=1e-6)
    # 2 t a_k / (lam - t^2 a_k^2) with t a_1 next to sqrt(lam)
    ratio = a[2] / a[0]
    limit = 2 * ratio / (1 - ratio**2) / np.sqrt(lam)
    assert points[-1][2] == pytest.approx(limit, rel=1e-6)


def test_two_points_touch_in_the_corner_of_their_square():
    prior = priors.TwoPointPrior(a=0.5)
    np.testing.assert_array_equal(touching_point(prior, [1.0, -0.1], 2.0), [0.5, -0.5])
    np.testing.assert_array_equal(touching_point(prior, [1.0, 0.0], 1.0), [0.5, 0.0])
    inner = touching_point(prior, [1.0, -0.1], 1.0)
    assert 0.4 < inner[0] < 0.5
    assert -0.4 < inner[1] < 0


def refused(message, call, *arguments, error=ValueError, **more):
    with pytest.raises(error, match=message):
        call(*arguments, **more)


def test_points_that_cannot_lie_on_a_boundary():
    box, no_ball = priors.BoxPrior(a=1.0), r"no ball of BoxPrior\(a=1.0\) passes the mean \(0, "
    for point in ((0.0, 0.0), (0.0, np.inf), (0.0, 1.0)):
        refused("expected a point whose cost is finite and higher", norm_ball, box.kl, point)
        refused(no_ball, kl_ball, box, point)
        refused(no_ball, kl_solid, box, (0.0, *point))
    # An exponential prior's own mean is 1: seen from there, (0, 1) is a step of -1 and none.
    beyond = r"passes the mean \(0, 1\): its divergence is inf"
    refused(beyond, kl_ball, priors.ExponentialPrior(), (-1.0, 0.0))
    for call in (norm_ball, norm_solid):
        refused(r"point is \(1.0,\); expected [23] numbers", call, np.abs, (1.0,))
    refused("unbounded in some direction", norm_ball, lambda mu: np.maximum(mu, 0.0))


def test_numbers_that_are_refused():
    for n in (0, 4, 360):
        refused("expected 5, 9, 13", norm_ball, np.abs, n_angles=n)
        for name in ("n_azimuth", "n_polar"):
            refused(r"expected 3, 5, 7, \.\.\. and 5, 9, 13", norm_solid, np.abs, **{name: n})
    for a in ([0.0, 0.0], [np.nan, 1.0], [np.inf, 1.0], [], [[1.0]]):
        refused(
            "direction is .* expected finite numbers", touching_point, priors.LaplacePrior(), a, 1.0
        )
        for call in (touching_l2, touching_corners):
            refused("direction is .* expected finite numbers", call, a)
    for size in (0.0, -1.0, np.inf):
        refused("level is", touching_point, priors.LaplacePrior(), [1.0], size)
        for call in (touching_l2, touching_corners):
            refused("radius is", call, [1.0], size)
    for lam in (0, -1, np.inf, np.nan):
        refused("lam is", kl_norm, MEANS, lam)
    refused("mu holds NaN", kl_norm, np.array([1.0, np.nan]), 4.0)
    whole = "n_angles is 9.0; expected a whole number"
    refused(whole, kl_ball, priors.LaplacePrior(4.0), n_angles=9.0, error=TypeError)
