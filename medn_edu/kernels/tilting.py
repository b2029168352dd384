"""What compiled code knows of priors and slacks: slopes and curvatures, by number.

Kernels take no functions as arguments, so they are told a prior or slack of the package by a number
and two parameters.  `PRIORS` and `SLACKS` give the numbers by the names that `medn_edu.priors` and
`medn_edu.slacks` use.  The elastic net is listed with the priors: its conjugate plays the part of
``Lambda``.  A prior that is not listed is asked in Python instead.
"""

import math

from medn_edu.kernels.compile import inner_kernel, kernel

OWN = -1  # a prior that compiled code does not know
GAUSSIAN, NORMAL_GAMMA, NORMAL_INVERSE_GAUSSIAN, BOX = range(4)
TWO_POINT, EXPONENTIAL, SPIKE_SLAB, ELASTIC_NET = range(4, 8)
PRIORS = {
    "gaussian": GAUSSIAN,
    "normal_gamma": NORMAL_GAMMA,
    "normal_inverse_gaussian": NORMAL_INVERSE_GAUSSIAN,
    "box": BOX,
    "two_point": TWO_POINT,
    "exponential": EXPONENTIAL,
    "spike_slab": SPIKE_SLAB,
    "elastic_net": ELASTIC_NET,
}
LINEAR, QUADRATIC, EXPONENTIAL_SLACK = range(3)
SLACKS = {"linear": LINEAR, "quadratic": QUADRATIC, "exponential": EXPONENTIAL_SLACK}

# Curvature that steps assume where the conjugate of an elastic net is flat, as a share of what it is
# elsewhere.  With 0 they would go far beyond the flat part.
FLAT = 0.1


@inner_kernel
def tilt(code, p, q, eta, variance):
    """Posterior mean ``Lambda'(eta)`` and variance ``Lambda''(eta)`` of one weight.

    ``p`` and ``q`` are the prior's parameters; a Gaussian's variance, which may differ from weight to
    weight, is handed over as ``variance`` and handed back.
    """
    if code == GAUSSIAN:
        return variance * eta, variance
    if code == NORMAL_GAMMA:  # Lambda = -p log(1 - eta^2 / q); Laplace has p = 1
        end = math.sqrt(q)
        left = (end - eta) * (end + eta)
        return 2.0 * p * eta / left, 2.0 * p * (q + eta * eta) / left / left
    if code == NORMAL_INVERSE_GAUSSIAN:  # Lambda = q (p - sqrt(p^2 - eta^2))
        left = math.sqrt((p - eta) * (p + eta))
        return q * eta / left, q * p * p / (left * left * left)
    if code == BOX:
        return _box(p, eta)
    if code == TWO_POINT:  # Lambda = log cosh(p eta)
        spread = p / math.cosh(p * eta)
        return p * math.tanh(p * eta), spread * spread
    if code == EXPONENTIAL:  # Lambda = -log(1 - eta / p)
        slope = 1.0 / (p - eta)
        return slope, slope * slope
    if code == ELASTIC_NET:  # Lambda = max(|eta| - p, 0)^2 / (2 q)
        excess = abs(eta) - p
        return math.copysign(max(excess, 0.0), eta) / q, (1.0 if excess >= 0.0 else FLAT) / q
    return _spike_slab(p, q, eta)


@inner_kernel
def _box(a, eta):
    """Lambda = log(sinh(a eta) / (a eta)): the Langevin function and its derivative."""
    x = a * eta
    if abs(x) < 0.02:
        square = x * x
        return (
            a * x * (1.0 / 3.0 - square * (1.0 / 45.0 - square * 2.0 / 945.0)),
            a * a * (1.0 / 3.0 - square * (1.0 / 15.0 - square * 2.0 / 189.0)),
        )
    if abs(x) > 350.0:
        return a * (math.copysign(1.0, x) - 1.0 / x), a * a / (x * x)
    sinh = math.sinh(x)
    return a * (1.0 / math.tanh(x) - 1.0 / x), a * a * (1.0 / (x * x) - 1.0 / (sinh * sinh))


@inner_kernel
def _spike_slab(pi, variance, eta):
    """Lambda = log(1 - pi + pi exp(variance eta^2 / 2))."""
    odds = (1.0 - pi) / pi * math.exp(-0.5 * variance * eta * eta)
    slab = 1.0 / (1.0 + odds)
    mean = variance * eta
    return slab * mean, slab * variance + slab * (1.0 - slab) * mean * mean


@inner_kernel
def slack_slopes(code, constant, C, total):
    """First and second derivative of ``U*`` where a sample's dual variables sum to ``total``.

    ``C`` is the constant times the sample's weight ``c``: the slack of a sample that counts ``c`` times
    is ``c U(xi)``, whose conjugate is ``c U*(total / c)``.
    """
    if code == LINEAR:
        return 0.0, 0.0
    if code == QUADRATIC:  # U* = total^2 / (2 C)
        return total / C, 1.0 / C
    left = C - total  # U* = -c log(1 - total / C)
    weight = C / constant
    return weight / left, weight / left / left


@kernel
def slack_slopes_along(code, constant, C, total, change, step):
    """First and second derivative of ``sum_i U*(total_i + step change_i)`` with respect to ``step``."""
    first, second = 0.0, 0.0
    for i in range(C.size):
        slope, curvature = slack_slopes(code, constant, C[i], total[i] + step * change[i])
        first += change[i] * slope
        second += change[i] * change[i] * curvature
    return first, second


@inner_kernel
def slack_gap(code, constant, C, total, violation):
    """``c (U(xi) + U*(total / c))`` at the least slack that covers the largest violation."""
    if code == LINEAR:
        return C * violation
    if code == QUADRATIC:
        return 0.5 * (C * violation * violation + total * (total / C))
    weight = C / constant
    scaled = max(1.0, constant * violation)
    return weight * (scaled - 1.0 - math.log(scaled) - math.log(1.0 - total / C))
