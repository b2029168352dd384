"""Checks of the exercises of toolbox."""

import numpy as np

from medn_edu.course.exercises._shared import bisect
from medn_edu.course.exercises.declarations import Function, Number, differs

check_coin_divergence = Number(
    "the divergence of a coin that shows heads eight times in ten from a fair one",
    right=0.8 * np.log(1.6) + 0.2 * np.log(0.4),
    praise="0.19 nats: by so much each throw of the biased coin speaks against the fair one.",
    mistakes={
        -0.5 * np.log(0.64): "that is KL(p0 || p), the other direction; average under the "
        "biased coin.",
        0.8 * np.log2(1.6) + 0.2 * np.log2(0.4): "that is in bits; take the natural logarithm.",
        0.8 * np.log(1.6): "tails is missing: its term is negative, and counts.",
        0.8 * np.log(1.6) - 0.2 * np.log(0.4): "the term of tails is negative; add it as it is.",
        -0.8 * np.log(1.6) - 0.2 * np.log(0.4): "a divergence is never negative; it is "
        "log(p / p0), not log(p0 / p).",
        -0.8 * np.log(0.8) - 0.2 * np.log(0.2): "that is the entropy of the biased coin; the "
        "fair coin does not occur in it.",
    },
)

check_tilted_coin = Number(
    "the mean of a coin with values 0 and 1, p0(1) = 0.2, tilted by log 3",
    right=3 / 7,
    praise="0.6 / (0.8 + 0.6): tilting with eta multiplies the odds, 1 : 4, by e^eta.",
    mistakes={
        0.6: "that is p0(1) e^eta; divide by Z, so that both probabilities add up to 1.",
        0.75: "that is the fair coin tilted, sigma(eta); this one has p0(1) = 0.2.",
        0.8: "that is tanh(eta), for the values -1 and 1; here they are 0 and 1.",
        0.2: "that is the mean before tilting.",
        1 / 13: "that is eta = -log 3: a positive eta must raise the mean.",
        1.4: "that is Z; the mean is what the value 1 contributes to it, divided by it.",
        4 / 7: "that is the probability of the value 0.",
    },
)

check_tangent = Number(
    "the divergence read off the tangent of slope 1.2 at the point (2, 1.5)",
    right=0.9,
    praise="2 * 1.2 - 1.5. Nothing else about the prior is needed.",
    mistakes={
        -0.9: "that is the intercept; the divergence is minus that.",
        1.5: "that is Lambda(eta), the height of the point.",
        2.4: "that is eta mu; subtract Lambda(eta).",
        3.9: "the sign of Lambda: log(p / p0) is eta w *minus* Lambda(eta).",
        1.2: "that is the slope, the mean of the tilted prior.",
        0.72: "mu^2 / 2 is right for the standard normal only.",
        0.3: "multiply the slope by eta before you subtract the height.",
    },
)


def _multiplier(m: float, b: float, v: float, C: float) -> float:
    return float(min(max((m - b) / v, 0.0), C))


check_multiplier = Function(
    "multiplier(m, b, v, C) for the Gaussian prior N(b, v) with slack",
    cases=[
        (1.0, 0.0, 1.0, 2.0),
        (1.0, 0.0, 2.0, 0.3),
        (2.0, 0.5, 4.0, 1.0),
        (1.0, 1.5, 1.0, 1.0),
        (-1.0, -3.0, 0.5, 1.5),
        (-1.0, -3.0, 0.5, 9.0),
    ],
    right=_multiplier,
    praise="0 if the prior meets the margin, C if the margin is too expensive, else where the mean "
    "is m.",
    mistakes=[
        (
            lambda m, b, v, C: (m - b) / v,
            "a multiplier is between 0 and C; yours leaves this interval.",
        ),
        (
            lambda m, b, v, C: min((m - b) / v, C),
            "yours is negative where the prior's mean is already large enough; there nothing need "
            "be done.",
        ),
        (
            lambda m, b, v, C: max((m - b) / v, 0.0),
            "yours may be larger than C; a missing unit of the margin never costs more.",
        ),
        (
            lambda m, b, v, C: min(max(m / v, 0.0), C),
            "the prior's mean b is missing: the tilted mean is b + v eta.",
        ),
        (
            lambda m, b, v, C: min(max(m - b, 0.0), C),
            "the variance is missing: Lambda'(eta) = b + v eta.",
        ),
        (
            lambda m, b, v, C: min(max((m - b) * v, 0.0), C),
            "divide by the variance: a wide prior moves by a small tilt.",
        ),
        (
            lambda m, b, v, C: b + v * _multiplier(m, b, v, C),
            "that is the mean that results; wanted is the multiplier eta.",
        ),
    ],
    otherwise="some results differ; try the standard normal, m = 1 and a large C: eta must be 1.",
)


def _tilted(w: np.ndarray, p0: np.ndarray, eta: float) -> np.ndarray:
    exponent = eta * w
    unscaled = p0 * np.exp(exponent - exponent.max())
    return unscaled / unscaled.sum()


def _eta(w: np.ndarray, p0: np.ndarray, m: float, floor: float = 0.0) -> float:
    """Tilt so far that the mean is at least ``m``, not backwards unless ``floor`` is negative."""

    def falls_short(eta: float) -> bool:
        return bool(_tilted(w, p0, eta) @ w < m)

    high = 1.0
    while falls_short(high):
        high *= 2
    return bisect(falls_short, floor, high) if falls_short(floor) else floor


def _closest(w: np.ndarray, p0: np.ndarray, m: float) -> np.ndarray:
    return _tilted(w, p0, _eta(w, p0, m))


def _mixed(w: np.ndarray, p0: np.ndarray, m: float) -> np.ndarray:
    """Reach the mean by moving probability straight to the largest value."""
    share = max((m - p0 @ w) / (w.max() - p0 @ w), 0.0)
    return (1 - share) * p0 + share * (w == w.max())


def _overflowing(w: np.ndarray, p0: np.ndarray, m: float) -> np.ndarray:
    p = p0 * np.exp(_eta(w, p0, m) * w)
    return p / p.sum()


_DIE, _FAIR = np.arange(1.0, 7.0), np.full(6, 1 / 6)
check_closest = Function(
    "closest(w, p0, m): one-constraint P1 for a discrete prior",
    cases=[
        (_DIE, _FAIR, 4.5),
        (_DIE, _FAIR, 3.0),
        (_DIE, np.array([0.3, 0.25, 0.2, 0.15, 0.07, 0.03]), 5.5),
        (np.array([-2.0, -0.5, 0.0, 1.0]), np.array([0.1, 0.4, 0.0, 0.5]), 0.9),
        (np.array([0.0, 0.01, 0.03]), np.array([0.6, 0.3, 0.1]), 0.02),
        (1e-4 * np.array([0.0, 1.0, 3.0]), np.array([0.6, 0.3, 0.1]), 2e-4),
    ],
    right=_closest,
    praise="one-constraint P1, for any discrete prior. MEDN has a constraint for every labelling.",
    mistakes=[
        (
            lambda w, p0, m: p0,
            "that is the prior, whatever the margin; tilt it until its mean is m.",
        ),
        (
            lambda w, p0, m: _tilted(w, p0, _eta(w, p0, m, floor=-5000.0)),
            "right where the margin binds; where the prior's mean is above m already, nothing "
            "must change: the constraint is >=, and eta is never negative.",
        ),
        (_eta, "that is the multiplier eta; return the tilted probabilities."),
        (
            _mixed,
            "that has the right mean, but moving probability straight to the largest value "
            "is not the closest way; tilt.",
        ),
        (
            lambda w, p0, m: _closest(w, np.full(len(w), 1 / len(w)), m),
            "that tilts the uniform distribution; start from p0.",
        ),
        (
            lambda w, p0, m: _tilted(w, p0, min(_eta(w, p0, m), 1.0)),
            "right where eta is at most 1; the bracket must grow until the mean is beyond m.",
        ),
        (
            lambda w, p0, m: _tilted(w, p0, min(_eta(w, p0, m), 1000.0)),
            "right where eta is at most 1000; small values need a larger one: let the bracket "
            "grow until the mean is beyond m.",
        ),
        (
            lambda w, p0, m: p0 * np.exp(_eta(w, p0, m) * w),
            "your probabilities do not add up to 1; divide by Z.",
        ),
    ],
    hidden=[
        (
            _overflowing,
            "right while numbers are small, but e^(eta w) overflows for w near 2000; subtract the "
            "largest w first, which cancels.",
            differs(_closest, (2000 + np.arange(4.0), np.full(4, 0.25), 2002.0)),
        ),
    ],
    otherwise="some results differ; try the fair die with m = 4.5, whose probabilities the text "
    "shows.",
)
