"""Checks of the exercises of l1-m3n."""

import numpy as np

from medn_edu.course.exercises.declarations import Function, Number
from medn_edu.theory.projection import project_l1_ball, project_l2_ball

check_threshold = Number(right=0.15, mistakes={"factor": 1 / 1.3})

check_l1_constant = Number(
    right=0.6, mistakes={"upside_down": 1 / 0.6, "upside_down_without_4": 1 / 2.4}
)

rng = np.random.default_rng(2)
check_weight_bounds = Function(
    cases=[(gap, 0.49 * rng.uniform(-1, 1, size=4)) for gap in (0.5, 0.02, 3.0)],
    right=lambda gap, eta: gap / (0.5 - np.abs(eta)),
    mistakes={
        "signed_eta": lambda gap, eta: gap / (0.5 - eta),
        "cost_of_one": lambda gap, eta: gap / (1 - np.abs(eta)),
        "upside_down": lambda gap, eta: gap * (0.5 - np.abs(eta)),
        "earnings_alone": lambda gap, eta: gap / np.abs(eta),
        "inverse": lambda gap, eta: (0.5 - np.abs(eta)) / gap,
    },
)


def _tau(w: np.ndarray, lam: float) -> np.ndarray:
    size = np.abs(w)
    return len(w) * size / (lam * size.sum())


rng = np.random.default_rng(3)
check_em_update = Function(
    cases=[
        *((rng.normal(size=k), lam) for k, lam in ((3, 2.0), (5, 0.5), (4, 7.0))),
        (np.array([1.5, 0.0, -0.5]), 3.0),
    ],
    right=_tau,
    mistakes={
        "sum_is_one_over_lambda": lambda w, lam: np.abs(w) / (lam * np.abs(w).sum()),
        "signed": lambda w, lam: len(w) * w / (lam * np.abs(w).sum()),
        "signed_everywhere": lambda w, lam: len(w) * w / (lam * w.sum()),
        "squares": lambda w, lam: len(w) * w**2 / (lam * (w**2).sum()),
        "without_K_and_lambda": lambda w, lam: np.abs(w) / np.abs(w).sum(),
        "mean_is_lambda": lambda w, lam: lam * len(w) * np.abs(w) / np.abs(w).sum(),
        "without_lambda": lambda w, lam: len(w) * np.abs(w) / np.abs(w).sum(),
        "l2_norm": lambda w, lam: len(w) * np.abs(w) / (lam * np.linalg.norm(w)),
        "without_norm": lambda w, lam: len(w) * np.abs(w) / lam,
        "without_K_and_norm": lambda w, lam: np.abs(w) / lam,
        "equation_6": lambda w, lam: np.sqrt(len(w)) * np.abs(w) / np.linalg.norm(w),
    },
)


def _soft(v: np.ndarray, theta: float) -> np.ndarray:
    return np.sign(v) * np.maximum(np.abs(v) - theta, 0)


def _once(v: np.ndarray, radius: float) -> np.ndarray:
    return _soft(v, max(np.abs(v).sum() - radius, 0.0) / len(v))


def _scaled(v: np.ndarray, radius: float) -> np.ndarray:
    return v * min(1.0, radius / np.abs(v).sum())


def _unclipped(v: np.ndarray, radius: float) -> np.ndarray:
    theta = max(np.abs(v).sum() - radius, 0.0) / len(v)
    return np.sign(v) * (np.abs(v) - theta)


def _to_sphere(v: np.ndarray, radius: float) -> np.ndarray:
    """Sorted thresholds without a look whether the point is inside."""
    u = np.sort(np.abs(v))[::-1]
    theta = (np.cumsum(u) - radius) / np.arange(1, len(u) + 1)
    return _soft(v, theta[np.flatnonzero(u > theta)[-1]])


def _one_left(v: np.ndarray, radius: float) -> np.ndarray:
    if np.abs(v).sum() <= radius:
        return v
    return _soft(v, np.abs(v).max() - radius)


rng = np.random.default_rng(4)
check_l1_projection = Function(
    cases=[
        *((2 * rng.normal(size=k), radius) for k, radius in ((2, 1.0), (5, 1.5), (8, 0.3))),
        (np.array([3.0, -2.9, 0.1, 0.0]), 2.0),
        (np.array([-1.0, 1.0]), 1.0),
        (np.array([0.2, -0.3, 0.1]), 1.0),  # inside
        (np.array([-2.0, 0.5]), 4.0),
    ],
    right=project_l1_ball,
    mistakes={
        "scaled": _scaled,
        "project_l2_ball": project_l2_ball,
        "once": _once,
        "unclipped": _unclipped,
        "signs_lost": lambda v, radius: np.abs(project_l1_ball(v, radius)),
        "to_sphere": _to_sphere,
        "one_left": _one_left,
    },
)
