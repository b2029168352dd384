"""Projections onto balls: the kernel, its twin by sorting, and what makes a point the nearest one.

This file also runs with bounds checked and as plain Python (tests/test_kernels_modes.py).
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from medn_edu.solvers.textbook.projected_subgradient import project_l1, project_l2
from medn_edu.theory.projection import project_l1_ball, project_l2_ball

both = pytest.mark.parametrize(
    ("project", "twin", "order"),
    [(project_l1, project_l1_ball, 1), (project_l2, project_l2_ball, 2)],
    ids=["L1", "L2"],
)


@st.composite
def points(draw):
    """A point, often with ties and zeros, of any magnitude, and a radius from tiny to beyond it."""
    size = draw(st.integers(1, 40))
    near_ties = st.sampled_from([0.0, -0.0, 1e-9, -1.0, 1 - 1e-15])
    kinds = [st.floats(-1, 1, allow_subnormal=False), st.integers(-3, 3).map(float), near_ties]
    entries = draw(st.sampled_from(kinds))
    point = draw(hnp.arrays(np.float64, size, elements=entries))
    scale = 10.0 ** draw(st.integers(-100, 100))
    share = draw(st.sampled_from([1e-13, 1e-6, 0.1, 0.5, 0.9, 1.1]))
    return scale * point, share * max(np.abs(scale * point).sum(), scale * 1e-3)


@both
@settings(max_examples=160, deadline=None, derandomize=True)
@given(points())
def test_the_kernel_equals_its_twin_and_nothing_in_the_ball_is_nearer(project, twin, order, case):
    """(v - Pv) . (z - Pv) <= 0 for all z in the ball, even for the worst."""
    v, radius = case
    nearest, length = project(v, radius), np.linalg.norm(v, order)
    assert np.abs(nearest - twin(v, radius)).max() <= 1e-12 * radius
    worst = radius * np.linalg.norm(v - nearest, np.inf if order == 1 else 2)
    allowance = 1e-12 * radius * max(np.abs(v).max(), radius) * len(v)
    assert worst - (v - nearest) @ nearest <= allowance
    if length < radius * (1 - 1e-12):
        np.testing.assert_array_equal(nearest, v)
    else:
        assert np.linalg.norm(nearest, order) == pytest.approx(radius, rel=1e-12)
    assert np.abs(project(nearest, radius) - nearest).max() <= 1e-12 * radius
    assert (nearest * np.sign(v) >= 0).all()


@pytest.mark.parametrize("radius", [1e-9, 1.0, 100.0, 1000.0])
@pytest.mark.parametrize("kind", ["normal", "rising", "falling", "few values", "equal"])
def test_every_order_of_entries(kind, radius):
    rng = np.random.default_rng(0)
    v = {
        "normal": rng.normal(size=4004),
        "rising": np.linspace(-2, 2, 4004),
        "falling": np.geomspace(1, 1e-6, 4004),
        "few values": rng.integers(-2, 3, 4004).astype(float),
        "equal": np.full(4004, -0.3),
    }[kind]
    nearest = project_l1(v, radius)
    assert np.abs(nearest - project_l1_ball(v, radius)).max() <= 1e-12 * radius
    order = rng.permutation(len(v))
    assert np.abs(project_l1(v[order], radius) - nearest[order]).max() <= 1e-12 * radius


def test_a_small_radius_keeps_its_digits():
    """With theta itself the two weights left would be off by their own size."""
    v = np.array([1e6, 1e6 - 2**-33, -1.0])
    nearest = project_l1(v, 1e-9)
    np.testing.assert_allclose(nearest, [(1e-9 + 2**-33) / 2, (1e-9 - 2**-33) / 2, 0], rtol=1e-14)


def test_sums_too_large_for_a_number_and_what_has_no_projection():
    with np.errstate(over="ignore", invalid="ignore"):  # of plain Python
        nearest = project_l1(np.array([1e308, -1e308, 1e308, 1.0]), 3.0)
        np.testing.assert_allclose(nearest, [1, -1, 1, 0])
        for bad in (np.nan, np.inf, -np.inf):
            assert np.isnan(project_l1(np.array([1.0, bad, 0.0]), 1.0)).all()


@both
def test_arguments_are_left_alone_and_radii_checked(project, twin, order):
    v = np.array([3.0, -4.0])
    for function in (project, twin):
        assert function([3, -4], 10.0).dtype == np.float64
        assert function(v, 10.0) is not v
        function(v, 1.0)
        function(v[::-1], 1.0)
        for radius in (0, -1.0, np.nan, np.inf):
            with pytest.raises(ValueError, match=r"radius is .*; expected a finite number > 0"):
                function(v, radius)
    assert v.tolist() == [3, -4]
