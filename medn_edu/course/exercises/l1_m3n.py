"""Checks of the exercises of l1-m3n."""

import numpy as np

from medn_edu.course.exercises.declarations import Function, Number
from medn_edu.theory.projection import project_l1_ball, project_l2_ball

_DIFFERS = "some results differ; try it on two weights, on paper."

check_threshold = Number(
    "the threshold that brings (0.9, 0.4) to the L1 ball of radius 1",
    right=0.15,
    praise="0.75 and 0.25 are left, and they add up to 1.",
    mistakes={
        0.3: "0.3 is all that must go; two weights share it.",
        1 / 1.3: "that is a factor, and factors make no zeros; every weight loses the same amount.",
        0.4: "a threshold of 0.4 leaves 0.5 and 0, which is deep inside the ball.",
        0.65: "that is half of all there is; only what exceeds the radius must go.",
        0.75: "that is what is left of the first weight; how much did it lose?",
        0.25: "that is what is left of the second weight; how much did it lose?",
    },
)

check_l1_constant = Number(
    "the L1-M3N constant of an adaptive M3N with C = 2, lambda = 10, K = 60 and norm 5",
    right=0.6,
    praise="C K / (4 lambda |w|_1), code name `l1_constant_of_em`. A larger lambda is a smaller C'.",
    mistakes={
        2.4: "the 4 is missing: a square has a slope of *two* times, and L1-M3N takes a *half*.",
        1.2: "only one of two factors 2 is there: the slope of the square, or the half of L1-M3N.",
        9.6: "the 4 belongs below: compare the square's slope with the half of L1-M3N.",
        0.12: "the slope of |w|^2 grows like |w|_1, not like its square.",
        3.0: "the norm is missing: how steep a square is depends on where one stands.",
        15.0: "the norm belongs below: the larger the weights, the steeper the square.",
        0.01: "K is missing: EM takes lambda / K for the square.",
        0.3: "C is missing: twice the price of slack in EM is twice that in L1-M3N.",
        2.0: "that is EM's own C; the two penalise the norm differently.",
        1 / 0.6: "upside down: a larger C of EM is a larger C', a larger lambda a smaller one.",
        1 / 2.4: "upside down, and the 4 is missing.",
    },
)

rng = np.random.default_rng(2)
check_weight_bounds = Function(
    "bounds(gap, eta): how large a weight of a solution can be",
    cases=[(gap, 0.49 * rng.uniform(-1, 1, size=4)) for gap in (0.5, 0.02, 3.0)],
    right=lambda gap, eta: gap / (0.5 - np.abs(eta)),
    praise="what a weight costs beyond what it earns cannot be more than the gap.",
    mistakes=[
        (
            lambda gap, eta: gap / (0.5 - eta),
            "a negative eta counts as well: take the magnitude of eta.",
        ),
        (
            lambda gap, eta: gap / (1 - np.abs(eta)),
            "a unit of weight costs a *half* in L1-M3N, not 1.",
        ),
        (
            lambda gap, eta: gap * (0.5 - np.abs(eta)),
            "upside down: the smaller |eta|, the tighter the bound.",
        ),
        (
            lambda gap, eta: gap / np.abs(eta),
            "that divides by what the weight earns; divide by cost less earnings.",
        ),
        (
            lambda gap, eta: (0.5 - np.abs(eta)) / gap,
            "that falls with the gap; a wider gap knows less.",
        ),
    ],
    otherwise=_DIFFERS,
)


def _tau(w: np.ndarray, lam: float) -> np.ndarray:
    size = np.abs(w)
    return len(w) * size / (lam * size.sum())


rng = np.random.default_rng(3)
check_em_update = Function(
    "new_tau(w, lam), Eq. (4) of the L1-M3N paper",
    cases=[
        *((rng.normal(size=k), lam) for k, lam in ((3, 2.0), (5, 0.5), (4, 7.0))),
        (np.array([1.5, 0.0, -0.5]), 3.0),
    ],
    right=_tau,
    praise="a weight of 0 gets tau = 0, from which it never returns.",
    mistakes=[
        (
            lambda w, lam: np.abs(w) / (lam * np.abs(w).sum()),
            "the tau add up to 1/lambda; their *mean* must be that.",
        ),
        (
            lambda w, lam: len(w) * w / (lam * np.abs(w).sum()),
            "some of your tau are negative, and they are variances: take magnitudes.",
        ),
        (
            lambda w, lam: len(w) * w / (lam * w.sum()),
            "magnitudes, above and below: weights of unlike sign must not cancel.",
        ),
        (
            lambda w, lam: len(w) * w**2 / (lam * (w**2).sum()),
            "that is in proportion to w^2; set the derivative of w^2 / tau + v tau to zero.",
        ),
        (
            lambda w, lam: np.abs(w) / np.abs(w).sum(),
            "neither K nor lambda is in it: the mean of the tau must be 1/lambda.",
        ),
        (
            lambda w, lam: lam * len(w) * np.abs(w) / np.abs(w).sum(),
            "the mean of your tau is lambda; it must be 1/lambda.",
        ),
        (
            lambda w, lam: len(w) * np.abs(w) / np.abs(w).sum(),
            "lambda is missing: the mean of your tau is 1; it must be 1/lambda.",
        ),
        (
            lambda w, lam: len(w) * np.abs(w) / (lam * np.linalg.norm(w)),
            "that divides by the *L2* norm; the mean is 1/lambda only with the L1 norm.",
        ),
        (
            lambda w, lam: len(w) * np.abs(w) / lam,
            "the norm is missing: twice the weights must have the same tau.",
        ),
        (
            lambda w, lam: np.abs(w) / lam,
            "K and the norm are missing: |w_k| / lambda has another mean than 1/lambda.",
        ),
        (
            lambda w, lam: np.sqrt(len(w)) * np.abs(w) / np.linalg.norm(w),
            "that is Eq. (6), for beta of gamma; Eq. (4) is for tau of w.",
        ),
    ],
    otherwise=_DIFFERS,
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
    "project(v, radius): the nearest point of the L1 ball",
    cases=[
        *((2 * rng.normal(size=k), radius) for k, radius in ((2, 1.0), (5, 1.5), (8, 0.3))),
        (np.array([3.0, -2.9, 0.1, 0.0]), 2.0),
        (np.array([-1.0, 1.0]), 1.0),
        (np.array([0.2, -0.3, 0.1]), 1.0),  # inside
        (np.array([-2.0, 0.5]), 4.0),
    ],
    right=project_l1_ball,
    praise="sorting costs K log K; the package's kernel finds the threshold without, on average in K.",
    mistakes=[
        (_scaled, "scaling ends on the ball, yet not at its nearest point, and it makes no zeros."),
        (project_l2_ball, "that is the projection onto the *L2* ball."),
        (
            _once,
            "still outside the ball: weights below the threshold cannot lose all of it, so those "
            "that are left must lose more.",
        ),
        (_unclipped, "weights pass through 0 and change their sign; they must stop there."),
        (
            lambda v, radius: np.abs(project_l1_ball(v, radius)),
            "the signs are lost: the projection is in the point's own orthant.",
        ),
        (
            _to_sphere,
            "right outside; but a point inside the ball is its own projection, and yours moves.",
        ),
        (_one_left, "only the largest weight is left of yours; often several remain."),
    ],
    otherwise="some results differ; try (1.5, 0.3) and radius 1, which goes to (1, 0).",
)
