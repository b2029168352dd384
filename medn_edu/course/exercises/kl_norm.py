"""Checks of the exercises of kl-norm."""

from collections.abc import Callable
from typing import Any

import numpy as np

from medn_edu.course.exercises._shared import bisect
from medn_edu.course.exercises.declarations import Choice, Function, Judged, differs

check_many_small = Choice(right="b")


def _slope(mu: float, lam: float) -> float:
    scaled = np.sqrt(lam) * mu
    return float(scaled / (1 + np.hypot(1, scaled)))


def _is_undefined_at_zero(slope: Callable[..., Any]) -> bool:
    try:
        value = slope(0.0, 4.0)
    except ZeroDivisionError:
        return True
    return bool(value != value)


check_kl_slope = Function(
    cases=[(0.5, 4.0), (-2.0, 5.0), (3.0, 0.5), (0.01, 9.0)],
    right=_slope,
    mistakes={
        "l1_slope": lambda mu, lam: np.sign(mu),
        "eta": lambda mu, lam: np.sqrt(lam) * _slope(mu, lam),
        "root_alone": lambda mu, lam: np.sqrt(lam) * mu / np.hypot(1, np.sqrt(lam) * mu),
        "parabola": lambda mu, lam: np.sqrt(lam) * mu / 2,
        "corollary_7": lambda mu, lam: 2 * mu / (lam - mu**2),
        "without_sign": lambda mu, lam: abs(_slope(mu, lam)),
    },
    hidden={
        "zero_over_zero": (
            lambda mu, lam: (np.sqrt(1 + lam * mu**2) - 1) / (np.sqrt(lam) * np.float64(mu)),
            _is_undefined_at_zero,
        ),
        "one_at_zero": (
            lambda mu, lam: _slope(mu, lam) if mu else 1.0,
            differs(_slope, (0.0, 4.0)),
        ),
    },
)


check_growing_lam = Choice(right="c")


def _mean(eta: Any, lam: float) -> Any:
    return 2 * eta / (lam - eta**2)


def _judge_constraint(answer: Any) -> str | None:
    if isinstance(answer, str | bytes):
        raise TypeError
    first, second, third = map(float, answer)
    a = np.array([first, second, third])
    if not np.isfinite(a).all():
        return "the three numbers have to be finite."
    zeros = int(np.sum(a == 0))
    if zeros == 3:
        return "with three zeros no mean has the margin 1, so there is no line to touch."
    if zeros == 2:
        return "that gives two means of exactly 0; exactly one is wanted."
    if zeros == 0:
        end = 1000.0 / np.abs(a).max()  # where the largest of kappa a meets the end of the domain
        if np.abs(a).min() * end < 1e-3:
            return (
                "the smallest mean is tiny, but it isn't 0: which natural parameter has the mean 0?"
            )
        return "no mean is exactly 0 here, because no natural parameter kappa * a_k is."
    sizes = np.abs(a[a != 0])
    if sizes[0] == sizes[1]:
        return "one mean is exactly 0, but the other two are of the same size."
    return None


check_exact_zero = Judged(
    right=(2.0, 1.0, 0.0),
    judge=_judge_constraint,
    expected="three numbers, such as (3, 2, 1)",
    mistakes=[(3, 2, 1), (2, 1, 1e-9), (1, 0, 0), (0, 0, 0), (1, 1, 0), (1, 0)],
)


def _cheapest(a: np.ndarray, margin: float, lam: float, end: float | None = None) -> np.ndarray:
    """Go along the shrinkage curve by bisection, up to the end of the domain or to a wrong end."""
    end = np.sqrt(lam) / np.abs(a).max() if end is None else end
    return _mean(a * bisect(lambda kappa: a @ _mean(kappa * a, lam) < margin, 0.0, end), lam)


def _corner(a: np.ndarray, margin: float, lam: float) -> np.ndarray:
    return np.where(np.arange(len(a)) == np.abs(a).argmax(), margin / a, 0.0)


def _last_eta(a: np.ndarray, margin: float, lam: float) -> np.ndarray:
    mu = _cheapest(a, margin, lam)
    return lam * mu / (1 + np.sqrt(1 + lam * mu**2))


check_cheapest_mean = Function(
    cases=[
        (np.array([1.0, 0.5]), 1.0, 400.0),
        (np.array([2.3, -0.7]), 3.0, 4.0),
        (np.array([-0.3, 0.2, 0.1]), 0.5, 36.0),
        (np.array([0.2, 5.0, 1.0]), 0.01, 0.5),
    ],
    right=_cheapest,
    mistakes={
        "l2_ball": lambda a, margin, lam: margin * a / (a @ a),
        "corner": _corner,
        "last_eta": _last_eta,
        "signs_lost": lambda a, margin, lam: np.abs(_cheapest(a, margin, lam)),
        "end_of_kappa": lambda a, margin, lam: _cheapest(a, margin, lam, np.sqrt(lam)),
    },
)
