"""Prices of violated margins and their conjugates."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from medn_edu.priors import ExponentialPrior
from medn_edu.slacks import ExponentialSlack, LinearSlack, QuadraticSlack

constants = st.floats(-3, 3).map(lambda exponent: 10.0**exponent)
slacks = st.one_of(
    st.builds(LinearSlack, constants),
    st.builds(QuadraticSlack, constants),
    st.builds(ExponentialSlack, constants),
)


@given(slacks)
def test_prices_rise_from_the_least_slack_and_have_their_conjugate(slack):
    """The largest difference, on slacks that are dense enough for maxima."""
    _, constant = slack.compiled
    steps = np.concatenate([[0.0], np.geomspace(1e-3, 1e3, 4001)])
    xi = slack.least + steps / (1 if isinstance(slack, QuadraticSlack) else constant)
    price = slack.penalty(xi)
    assert price[0] == 0
    assert np.all(np.diff(price) > 0)
    assert slack.penalty(np.array([slack.least / 2, -1.0])).tolist() == [0.0, 0.0]
    total = constant * np.array([0.0, 0.1, 0.5, 0.9, 0.99])
    by_search = np.max(total[:, None] * xi - price, axis=1)
    found = slack.conjugate(total)
    assert found[0] == 0
    assert np.all(found >= by_search * (1 - 1e-12) - 1e-12 * constant)
    assert_allclose(found, by_search, rtol=1e-4, atol=1e-12)


@pytest.mark.parametrize(
    ("slack", "least", "compiled", "penalty", "conjugate"),
    [
        (LinearSlack(2), 0.0, ("linear", 2.0), [1, 6], [0, 0]),
        (QuadraticSlack(2), 0.0, ("quadratic", 2.0), [0.25, 9], [0, 0.25]),
        (ExponentialSlack(2), 0.5, ("exponential", 2.0), [0, 5 - math.log(6)], [0, math.log(2)]),
    ],
)
def test_by_hand(slack, least, compiled, penalty, conjugate):
    assert slack.least == least
    assert slack.compiled == compiled
    assert_allclose(slack.penalty(np.array([0.5, 3.0])), penalty)
    assert_allclose(slack.conjugate(np.array([0.0, 1.0])), conjugate)
    assert slack.conjugate(np.array([-0.5]))[0] == 0  # a total below 0 asks for no slack


def test_too_large_a_total_is_infinitely_expensive():
    """A full total is allowed, up to rounding, where it is the rule."""
    for slack in (LinearSlack(3.0), ExponentialSlack(3.0)):
        assert slack.conjugate(np.array([3.0001, 1e9])).tolist() == [np.inf, np.inf]
        assert np.isfinite(slack.conjugate(np.array([2.9999]))[0])
    assert LinearSlack(0.3).conjugate(np.array([0.1 + 0.2]))[0] == 0
    assert ExponentialSlack(3.0).conjugate(np.array([3.0]))[0] == np.inf


def test_exponential_price_is_the_divergence_from_an_exponential_prior():
    mean = np.array([0.5, 1.3, 4.0])
    assert_allclose(ExponentialSlack(2.0).penalty(mean), ExponentialPrior(2.0).kl(mean))


@pytest.mark.parametrize("cls", [LinearSlack, QuadraticSlack, ExponentialSlack])
def test_wrong_constants(cls):
    name = "c" if cls is ExponentialSlack else "C"
    for value in (0.0, -1, np.inf, np.nan):
        with pytest.raises(ValueError, match=f"^{name} is .* expected a finite number > 0"):
            cls(value)
    with pytest.raises(TypeError, match=f"^{name} is 'much'"):
        cls("much")
    with pytest.raises(ValueError, match=rf"{name} is 1000.* \.\.\.; expected a number"):
        cls(10**400)
    assert cls(2.0) == cls(2.0) != cls(3.0)
    for number in (10**30, np.float32(2)):  # of a huge integer numpy makes no array
        assert type(cls(number).compiled[1]) is float
    with pytest.raises(ValueError, match=r"c is 1e-320; expected a number between 1e-150 and"):
        ExponentialSlack(1e-320)
