"""Answers to the exercises of toolbox."""

from __future__ import annotations

import numpy as np

from medn_edu.course import exercises


def tilted(w, p0, eta):
    exponent = eta * w
    unscaled = p0 * np.exp(exponent - exponent.max())
    return unscaled / unscaled.sum()


def eta_for(w, p0, m, low=0.0, tilt=tilted):
    high = 1.0
    while tilt(w, p0, high) @ w < m:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        if tilt(w, p0, middle) @ w < m:
            low = middle
        else:
            high = middle
    return high


def closest(w, p0, m):
    return p0 if p0 @ w >= m else tilted(w, p0, eta_for(w, p0, m))


def both_ways(w, p0, m):
    return tilted(w, p0, eta_for(w, p0, m, -4000.0))


def mixed(w, p0, m):
    if p0 @ w >= m:
        return p0
    top = (w == w.max()).astype(float)
    share = (m - p0 @ w) / (w.max() - p0 @ w)
    return (1 - share) * p0 + share * top


def bold(w, p0, m):
    """Right, but for large numbers."""

    def tilt(w, p0, eta):
        unscaled = p0 * np.exp(eta * w)
        return unscaled / unscaled.sum()

    return p0 if p0 @ w >= m else tilt(w, p0, eta_for(w, p0, m, tilt=tilt))


def multiplier(m, b, v, C):
    return min(max((m - b) / v, 0), C)


ANSWERS = {
    exercises.check_coin_divergence: [0.1927, 0.2231, 0.2781, 0.376, 0.5593, -0.1927, 0.5004],
    exercises.check_tilted_coin: [3 / 7, 0.6, 0.75, 0.8, 0.2, 1 / 13, 1.4, 4 / 7],
    exercises.check_tangent: [0.9, -0.9, 1.5, 2.4, 3.9, 1.2, 0.72, 0.3],
    exercises.check_multiplier: [
        multiplier,
        lambda m, b, v, C: (m - b) / v,
        lambda m, b, v, C: min((m - b) / v, C),
        lambda m, b, v, C: max((m - b) / v, 0),
        lambda m, b, v, C: np.clip(m / v, 0, C),
        lambda m, b, v, C: np.clip(m - b, 0, C),
        lambda m, b, v, C: np.clip((m - b) * v, 0, C),
        lambda m, b, v, C: b + v * multiplier(m, b, v, C),
    ],
    exercises.check_closest: [
        closest,
        lambda w, p0, m: p0,
        both_ways,
        lambda w, p0, m: 0.0 if p0 @ w >= m else eta_for(w, p0, m),
        mixed,
        lambda w, p0, m: closest(w, np.full(len(w), 1 / len(w)), m),
        lambda w, p0, m: tilted(w, p0, min(eta_for(w, p0, m) if p0 @ w < m else 0.0, 1.0)),
        lambda w, p0, m: p0 if p0 @ w >= m else tilted(w, p0, min(eta_for(w, p0, m), 1000.0)),
        lambda w, p0, m: p0 * np.exp((0.0 if p0 @ w >= m else eta_for(w, p0, m)) * w),
        bold,
    ],
}
