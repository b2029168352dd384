"""Checks of the exercises of kl-norm."""

from collections.abc import Callable
from typing import Any

import numpy as np

from medn_edu.course.exercises._shared import bisect
from medn_edu.course.exercises.declarations import Function, Judged, Number, differs

check_kl_norm_at_zero = Number(right=2.5)


_EXACT = frozenset({"L1"})  # the norm whose ball has corners


def _judge_names(answer: Any) -> str | None:
    if isinstance(answer, str):
        answer = {answer}
    names = frozenset(str(name).strip().upper() for name in answer)
    if names - {"L1", "L2", "KL"}:
        return 'the names are "L2", "KL" and "L1".'
    hints = {
        _EXACT: None,
        frozenset({"L1", "KL"}): (
            "on the KL ball with lambda 10^6 the smaller weight is 0.0013, which is not 0."
        ),
        frozenset({"KL"}): "the KL ball has no corners, however sharply it turns; which ball has?",
        frozenset(): "one of the balls has corners, and corners lie on axes.",
    }
    otherwise = "on the L2 ball the point lies in the direction (2, 1) itself, with no weight 0."
    return hints.get(names, otherwise)


check_exact_zeros = Judged(
    right=set(_EXACT),
    judge=_judge_names,
    expected='a set of names, such as {"L2"}',
    mistakes=[{"L1", "KL"}, {"KL"}, set(), {"L1", "L2"}, {"M3N"}, 1],
)


def _log_mgf(eta: float, lam: float) -> float:
    return float(-np.log(1 - eta**2 / lam))


def _mean(eta: Any, lam: float) -> Any:
    return 2 * eta / (lam - eta**2)


check_conjugate = Function(
    cases=[(1.0, 4.0), (-1.5, 4.0), (0.3, 6.0), (2.9, 9.0), (0.0, 2.0)],
    right=lambda eta, lam: eta * _mean(eta, lam) - _log_mgf(eta, lam),
    mistakes={
        "without_normaliser": lambda eta, lam: eta * _mean(eta, lam),
        "sign_of_log_mgf": lambda eta, lam: eta * _mean(eta, lam) + _log_mgf(eta, lam),
        "log_mgf": _log_mgf,
        "sign": lambda eta, lam: _log_mgf(eta, lam) - eta * _mean(eta, lam),
        "standard_normal": lambda eta, lam: _mean(eta, lam) ** 2 / 2,
    },
)


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


def _cheapest(a: np.ndarray, margin: float, lam: float, end: float | None = None) -> np.ndarray:
    """Bisect along the shrinkage curve, up to the end of the domain or to a wrong one."""
    end = np.sqrt(lam) / np.abs(a).max() if end is None else end
    return _mean(a * bisect(lambda t: a @ _mean(t * a, lam) < margin, 0.0, end), lam)


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
        "end_of_t": lambda a, margin, lam: _cheapest(a, margin, lam, np.sqrt(lam)),
    },
)
