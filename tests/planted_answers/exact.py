"""Answers to the exercises of exact: the right one first, then typical mistakes."""

from __future__ import annotations

from typing import Any

import numpy as np

from medn_edu.course import exercises


def unit(alpha: np.ndarray, best: int) -> np.ndarray:
    return np.eye(len(alpha))[best]


def walls(eta: np.ndarray, d: np.ndarray, end: float) -> np.ndarray:
    moving = d != 0
    return (np.sign(d[moving]) * end - eta[moving]) / d[moving]


def newton(most: int = 200, longest: float = 1.0) -> Any:
    """Return a safeguarded Newton search, another way than the check's; or one with a mistake."""

    def search(eta: np.ndarray, d: np.ndarray, gain: float, lam: float) -> float:
        def slope(step: float) -> float:
            tilted = eta + step * d
            return gain - d @ (2 * tilted / (lam - tilted**2))

        def bend(step: float) -> float:
            tilted = eta + step * d
            return d**2 @ (2 * (lam + tilted**2) / (lam - tilted**2) ** 2)

        low, high = 0.0, min(longest, walls(eta, d, lam**0.5).min())
        if slope(0.0) <= 0:
            return 0.0
        if high == longest and slope(high) >= 0:
            return longest
        step = 0.0
        for _ in range(most):
            step += slope(step) / bend(step)
            step = step if low < step < high else (low + high) / 2
            low, high = (step, high) if slope(step) > 0 else (low, step)
        return step

    return search


def blind(eta: np.ndarray, d: np.ndarray, gain: float, lam: float) -> float:
    """Bisect without asking whether the middle is inside the walls."""
    low, high = 0.0, 1.0
    for _ in range(50):
        step = (low + high) / 2
        tilted = eta + step * d
        low, high = (step, high) if gain > d @ (2 * tilted / (lam - tilted**2)) else (low, step)
    return low


def newton_once(eta: np.ndarray, d: np.ndarray, gain: float, lam: float) -> float:
    slope = gain - d @ (2 * eta / (lam - eta**2))
    return np.clip(slope / (d**2 @ (2 * (lam + eta**2) / (lam - eta**2) ** 2)), 0, 1)


def overwritten(alpha: np.ndarray, best: int, gamma: float, C: float) -> np.ndarray:
    moved = (1 - gamma) * alpha
    moved[best] = gamma * C
    return moved


ANSWERS: dict[Any, list[Any]] = {
    exercises.check_relative_gap: [1 - 10 / 12.5, 2.5, 0.25, 0.8, 1.25, -0.2, 20, 3],
    exercises.check_block_gap: [
        lambda H, alpha, C: sum((C * (k == H.argmax()) - alpha[k]) * H[k] for k in range(len(H))),
        lambda H, alpha, C: max(H) - sum(alpha * H),
        lambda H, alpha, C: C * max(H),
        lambda H, alpha, C: sum(alpha * H) - C * max(H),
        lambda H, alpha, C: C * (max(H) - min(H[alpha > 0])),
        lambda H, alpha, C: C * (max(H) - sum(alpha * H)),
        lambda H, alpha, C: C * (max(H) - min(H)),
    ],
    exercises.check_block_update: [
        lambda alpha, best, gamma, C: alpha + gamma * (C * unit(alpha, best) - alpha),
        lambda alpha, best, gamma, C: alpha - gamma * alpha,
        lambda alpha, best, gamma, C: alpha + gamma * C * unit(alpha, best),
        lambda alpha, best, gamma, C: alpha + gamma * (unit(alpha, best) - alpha),
        lambda alpha, best, gamma, C: gamma * alpha + (1 - gamma) * C * unit(alpha, best),
        overwritten,
        lambda alpha, best, gamma, C: C * unit(alpha, best),
        lambda alpha, best, gamma, C: alpha,
    ],
    exercises.check_room: [
        lambda eta, d, lam: walls(eta, d, lam**0.5).min(),
        lambda eta, d, lam: walls(eta, d, lam).min(),
        lambda eta, d, lam: (lam**0.5 / abs(d)).min(),
        lambda eta, d, lam: ((lam**0.5 - abs(eta)) / abs(d)).min(),
        lambda eta, d, lam: walls(eta, d, lam**0.5).max(),
        lambda eta, d, lam: ((lam**0.5 - eta) / d).min(),
        lambda eta, d, lam: walls(eta, d, lam**0.5),
        lambda eta, d, lam: ((np.sign(d) * lam**0.5 - eta) / d).min(),
        lambda eta, d, lam: 1.0,
    ],
    exercises.check_line_search: [
        newton(),
        lambda eta, d, gain, lam: (gain - d @ eta) / (d @ d),
        lambda eta, d, gain, lam: np.clip((gain - d @ eta) / (d @ d), 0, 1),
        newton_once,
        blind,
        lambda eta, d, gain, lam: min(1, walls(eta, d, lam**0.5).min()),
        newton(longest=1e6),
        lambda eta, d, gain, lam: gain - d @ (2 * eta / (lam - eta**2)),
        lambda eta, d, gain, lam: newton()(eta, d, gain + d @ eta, lam),
        lambda eta, d, gain, lam: 0.5,
    ],
}
