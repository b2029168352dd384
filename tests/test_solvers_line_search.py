"""Line search on concave functions, on the whole line and with barriers."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from medn_edu.solvers.line_search import highest_point

positive = st.integers(-300, 300).map(lambda hundredths: 10.0 ** (hundredths / 100))
accuracies = st.floats(-6, -1).map(lambda exponent: 10.0**exponent)


class Barriers:
    """``gain t - bend t^2 / 2 + sum_j heights_j log(1 - t / ends_j)``; beyond an end it is not asked."""

    def __init__(self, gain, bend, heights, ends):
        self.gain, self.bend = gain, bend
        self.heights, self.ends = np.array(heights), np.array(ends)
        self.limit = float(np.min(self.ends, initial=np.inf))
        self.asked = []

    @property
    def start(self):
        return float(self.gain - np.sum(self.heights / self.ends))

    def __call__(self, step):
        assert 0 < step <= 1
        assert step < self.limit
        self.asked.append(step)
        room = self.ends - step
        slope = self.gain - self.bend * step - np.sum(self.heights / room)
        return float(slope), float(self.bend + np.sum(self.heights / room**2))


barriers = st.integers(0, 4).flatmap(
    lambda n: st.builds(
        Barriers,
        gain=positive,
        bend=st.just(0.0) | positive,
        heights=st.lists(positive, min_size=n, max_size=n),
        ends=st.lists(positive, min_size=n, max_size=n),
    )
)


@given(barriers, accuracies)
def test_slope_is_small_or_the_whole_way_pays(function, accuracy):
    """Inside the domain, where the slope has all but vanished, past neither step 1 nor the top."""
    start = function.start
    assume(start > 1e-6 * function.gain)
    step = highest_point(function, start, function.limit, accuracy)
    assert 0 < step <= 1
    assert step < function.limit
    slope, _ = function(step)
    end = min(0.99 * function.limit, 1.0)
    assert -1e-8 * start <= slope <= accuracy * start * (1 + 1e-9) or (step == end and slope > 0)
    is_parabola = len(function.ends) == 0 and function.bend > 0
    assert len(function.asked) <= 1 + (2 if is_parabola else 60)  # one of them by this test
    grown = function.gain * step - function.bend * step**2 / 2
    grown += float(np.sum(function.heights * np.log1p(-step / function.ends)))
    assert grown >= -1e-12 * (function.gain + np.sum(function.heights))


@given(st.floats(max_value=0.0) | st.just(math.nan), positive)
def test_where_nothing_is_to_be_gained_nothing_moves(start, limit):
    """Without asking for another slope."""
    assert highest_point(pytest.fail, start, limit) == 0.0
    for end in (0.0, -1e-3, -math.inf):  # past the end of the domain
        assert highest_point(pytest.fail, 1.0, end) == 0.0


@given(st.floats(0.01, 0.99), st.floats(1, 8))
def test_slope_that_jumps(where, height):
    """As with a two-point prior far out: saturated slopes, curvature zero nearly everywhere."""

    def slope(step):
        return (1.0 if step < where else -(10.0**height)), 0.0

    step = highest_point(slope, 1.0, math.inf, 1e-3)
    assert step < where
    assert where - step < 1e-6


@given(st.floats(0.05, 0.95))
def test_infinite_answers_past_the_end_of_the_domain(end):
    """A domain whose end is not known beforehand: slope minus infinity, bend infinite or nan."""
    for bend in (math.inf, math.nan):

        def slope(step, bend=bend):
            if step >= end:
                return -math.inf, bend
            return 1.0 - 0.1 * end / (end - step), 0.1 * end / (end - step) ** 2

        step = highest_point(slope, 0.9, math.inf, 1e-6)
        assert step == pytest.approx(0.9 * end, rel=1e-3)


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e300])
@pytest.mark.parametrize("end", [1e-300, 1e-12, 0.5, 1.0, 1 + 1e-6, 1 + 1e-12, 7.0])
def test_ends_of_every_size_and_functions_of_any_scale(end, scale):
    """A barrier at ``end``; the maximum lies at 0.9 of the way to it, or at 1."""

    def slope(step):
        room = 1 - step / end
        return scale * (10.0 - 1 / room), scale / end / room**2

    step = highest_point(slope, 9.0 * scale, end, 1e-6)
    assert step == pytest.approx(min(0.9 * end, 1.0), rel=1e-4)


@given(st.floats(0.02, 0.98), st.floats(0, 4), st.floats(-0.9, 0.9), accuracies)
def test_saturated_slopes(where, steepness, tilt, accuracy):
    """As with a two-point prior: Newton's steps from the flat parts would lead out of the interval."""
    rate = 10.0**steepness

    def slope(step):
        assert 0 < step <= 1
        bent = math.tanh(rate * (step - where))
        return tilt - bent, rate * (1 - bent**2)

    start = tilt + math.tanh(rate * where)
    assume(start > 0.01)
    step = highest_point(slope, start, math.inf, accuracy)
    left = slope(step)[0]
    assert abs(left) <= accuracy * start or (step == 1.0 and left > 0)
