"""Prices of violated margins and their conjugates."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.integrate import quad

from medn_edu.slacks import ExponentialSlack, LinearSlack, QuadraticSlack

constants = st.floats(-3, 3).map(lambda exponent: 10.0**exponent)
slacks = st.one_of(
    st.builds(LinearSlack, constants),
    st.builds(QuadraticSlack, constants),
    st.builds(ExponentialSlack, constants),
)


def constant(slack):
    return slack.compiled[1]


def some_xi(slack):
    """Slacks from the least one on, dense enough for maxima."""
    steps = np.concatenate([[0.0], np.geomspace(1e-3, 1e3, 4001)])
    unit = 1 if isinstance(slack, QuadraticSlack) else 1 / constant(slack)
    return slack.least + unit * steps


@given(slacks)
def test_conjugate_is_the_largest_difference(slack):
    xi = some_xi(slack)
    price = slack.penalty(xi)
    shares = np.array([0.0, 0.1, 0.5, 0.9, 0.99])
    total = constant(slack) * shares
    by_search = np.max(total[:, None] * xi - price, axis=1)
    found = slack.conjugate(total)
    assert np.all(found >= by_search * (1 - 1e-12) - 1e-12 * constant(slack))
    assert_allclose(found, by_search, rtol=1e-4, atol=1e-12)


@given(slacks)
def test_price_is_the_conjugates_conjugate(slack):
    top = 50 if isinstance(slack, QuadraticSlack) else 1
    total = constant(slack) * np.concatenate(
        [np.linspace(0, 0.999, 2000), 1 - np.geomspace(1e-3, 1e-9)]
    )
    conjugate = slack.conjugate(top * total)
    unit = 1 if isinstance(slack, QuadraticSlack) else 1 / constant(slack)
    xi = slack.least + unit * np.array([0.0, 0.3, 1.0, 20.0])
    by_search = np.max(xi[:, None] * top * total - conjugate, axis=1)
    assert_allclose(by_search, slack.penalty(xi), rtol=1e-3, atol=1e-3 * slack.penalty(xi)[-1])


@given(slacks)
def test_least_slack_is_free_and_prices_rise_from_there(slack):
    assert slack.penalty(np.array([slack.least]))[0] == 0
    assert slack.conjugate(np.array([0.0]))[0] == 0
    price = slack.penalty(some_xi(slack)[1:])
    assert np.all(np.diff(price) > 0)
    assert np.all(price >= 0)
    assert slack.penalty(np.array([slack.least / 2, -1.0])).tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("slack", "least", "compiled"),
    [
        (LinearSlack(2), 0.0, ("linear", 2.0)),
        (QuadraticSlack(2), 0.0, ("quadratic", 2.0)),
        (ExponentialSlack(4), 0.25, ("exponential", 4.0)),
    ],
)
def test_what_solvers_ask(slack, least, compiled):
    assert slack.least == least
    assert slack.compiled == compiled


def test_by_hand():
    xi, total = np.array([0.5, 3.0]), np.array([0.0, 1.0])
    assert_allclose(LinearSlack(2.0).penalty(xi), [1, 6])
    assert_allclose(LinearSlack(2.0).conjugate(total), 0)
    assert_allclose(QuadraticSlack(2.0).penalty(xi), [0.25, 9])
    assert_allclose(QuadraticSlack(2.0).conjugate(total), [0, 0.25])
    assert_allclose(ExponentialSlack(2.0).penalty(xi), [0, 5 - math.log(6)])
    assert_allclose(ExponentialSlack(2.0).conjugate(total), [0, math.log(2)])


@pytest.mark.parametrize("slack", [LinearSlack(3.0), ExponentialSlack(3.0)])
def test_too_large_a_total_is_infinitely_expensive(slack):
    assert slack.conjugate(np.array([3.0001, 1e9])).tolist() == [np.inf, np.inf]
    assert np.isfinite(slack.conjugate(np.array([2.9999]))[0])


def test_a_full_total_is_allowed_up_to_rounding_where_it_is_the_rule():
    assert LinearSlack(0.3).conjugate(np.array([0.1 + 0.2]))[0] == 0
    assert ExponentialSlack(3.0).conjugate(np.array([3.0]))[0] == np.inf


@pytest.mark.parametrize("mean", [0.5, 1.3, 4.0])
def test_exponential_price_is_a_divergence(mean):
    """The exponential with this mean is closest to the prior, ``c exp(-c xi)``, of all that have it."""
    c, rate = 2.0, 1 / mean

    def integrand(xi):
        return rate * math.exp(-rate * xi) * (math.log(rate / c) + (c - rate) * xi)

    divergence = quad(integrand, 0, 60 * mean)[0]
    assert ExponentialSlack(c).penalty(np.array([mean]))[0] == pytest.approx(divergence, abs=1e-9)


@pytest.mark.parametrize("cls", [LinearSlack, QuadraticSlack, ExponentialSlack])
def test_wrong_constants(cls):
    name = "c" if cls is ExponentialSlack else "C"
    for value in (0.0, -1, np.inf, np.nan):
        with pytest.raises(ValueError, match=f"^{name} is .* expected a finite number > 0"):
            cls(value)
    with pytest.raises(TypeError, match=f"^{name} is 'much'"):
        cls("much")
    assert cls(2.0) == cls(2.0) != cls(3.0)


def test_constants_are_kept_as_floats():
    """Of a huge integer numpy makes no array, or one of objects."""
    assert type(LinearSlack(10**30).C) is float
    assert ExponentialSlack(np.float32(2)).conjugate(np.ones(1)).dtype == float
    with pytest.raises(ValueError, match=r"C is 1000.* \.\.\.; expected a number"):
        LinearSlack(10**400)
    with pytest.raises(ValueError, match=r"c is 1e-320; expected a number between 1e-150 and"):
        ExponentialSlack(1e-320)
