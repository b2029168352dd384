"""Checks of the exercises of pac-bayes."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import rel_entr

from medn_edu.course.exercises._shared import (
    best_of_all,
    bisect,
    chain_cases,
    chain_score,
    labellings,
)
from medn_edu.course.exercises.declarations import Function, Number, differs
from medn_edu.theory.bounds import kl_inverse

_N_THROWS, _DELTA = 50, 0.05
_LETTERS, _LABELS, _C, _GAMMA = 5, 26, 20.0, 1.0


_BUDGET, _ROOT = math.log(1 / _DELTA) / _N_THROWS, 1 / _N_THROWS
check_quiet_coin = Number(
    right=1 - _DELTA**_ROOT,
    mistakes={
        "pinsker": (_BUDGET / 2) ** 0.5,
        "budget": _BUDGET,
        "tails": _DELTA**_ROOT,
        "delta_swapped": 1 - (1 - _DELTA) ** _ROOT,
        "union_bound": _DELTA / _N_THROWS,
        "one_head": 1 / _N_THROWS,
    },
)

_LOGS, _RATIO2 = _LETTERS * math.log(_LABELS), (_C / _GAMMA) ** 2
check_n_draws = Number(
    right=32 * _LOGS * _RATIO2,
    mistakes={
        "ratio_not_squared": 32 * _LOGS * _C / _GAMMA,
        "papers_choice": 16 * _LOGS * _RATIO2,
        "labels_of_a_letter": 32 * math.log(_LABELS) * _RATIO2,
        "without_logarithm": 32 * _LABELS**_LETTERS * _RATIO2,
        "labels_times_letters": 32 * _LETTERS * _LABELS * _RATIO2,
        "base_and_exponent_swapped": 32 * _LABELS * math.log(_LETTERS) * _RATIO2,
        "ratio_upside_down": 32 * _LOGS / _RATIO2,
        "log_base_ten": 32 * _LOGS / math.log(10) * _RATIO2,
        "one_mean": 2 * _LOGS * _RATIO2,
        "without_32": _LOGS * _RATIO2,
    },
)


def _averaging(m: int, gamma: float, c: float, log_labellings: float) -> float:
    return math.exp(log_labellings - m * gamma**2 / (32 * c**2))


check_averaging = Function(
    cases=[(100, 1.0, 2.0, 3.0), (7, 0.5, 1.0, math.log(8)), (5000, 0.3, 4.0, 10.0)],
    right=_averaging,
    mistakes={
        "without_labellings": lambda m, gamma, c, logs: math.exp(-m * gamma**2 / (32 * c**2)),
        "logarithm_as_number": lambda m, gamma, c, logs: (
            logs * math.exp(-m * gamma**2 / (32 * c**2))
        ),
        "not_squared": lambda m, gamma, c, logs: math.exp(logs - m * gamma / (32 * c)),
        "precedence": lambda m, gamma, c, logs: math.exp(logs - m * gamma**2 / 32 * c**2),
        "one_mean": lambda m, gamma, c, logs: math.exp(logs - m * gamma**2 / (2 * c**2)),
        "logarithm_of_term": lambda m, gamma, c, logs: logs - m * gamma**2 / (32 * c**2),
        "without_m": lambda m, gamma, c, logs: math.exp(logs - gamma**2 / (32 * c**2)),
    },
    hidden={
        "overflowing": (
            lambda m, gamma, c, logs: np.exp(logs) * np.exp(-m * gamma**2 / (32 * c**2)),
            differs(_averaging, (60_000, 1.0, 1.4, 300 * math.log(_LABELS))),
        )
    },
)


def _margin(node: np.ndarray, edge: np.ndarray, labels: np.ndarray) -> float:
    """The truth's score less the best of all others, by trying all."""
    return _lead(node, edge, labels, lambda rival, truth: rival != truth)


def _lead(
    node: np.ndarray, edge: np.ndarray, labels: np.ndarray, is_rival: Callable[..., bool]
) -> float:
    truth = tuple(int(label) for label in labels)
    rivals = [chain_score(node, edge, y) for y in labellings(node) if is_rival(y, truth)]
    return chain_score(node, edge, truth) - max(rivals)


def _over_other_scores(node: np.ndarray, edge: np.ndarray, labels: np.ndarray) -> float:
    """The truth's score less the largest that is another number: rivals that tie are lost."""
    truth = chain_score(node, edge, labels)
    scores = [chain_score(node, edge, y) for y in labellings(node)]
    return truth - max(score for score in scores if score != truth)


def _over_second_best(node: np.ndarray, edge: np.ndarray, labels: np.ndarray) -> float:
    scores = sorted(chain_score(node, edge, y) for y in labellings(node))
    return scores[-1] - scores[-2]


def _margin_cases() -> list[tuple[Any, ...]]:
    """Chains whose true labelling is the best one, where it is not, and one where others tie with it."""
    rng, cases = np.random.default_rng(5), []
    for number, (node, edge) in enumerate(chain_cases(5)):
        labels = rng.integers(node.shape[1], size=len(node))
        if number % 2 == 0:
            labels = np.array(best_of_all(node, edge))
        cases.append((node, edge, labels))
    tied = np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 0.0]])
    return [*cases, (tied, np.diag([1.0, 1.0, 0.0]), np.array([0, 0]))]


check_margin = Function(
    cases=_margin_cases(),
    right=_margin,
    mistakes={
        "truth_as_rival": lambda node, edge, labels: _lead(
            node, edge, labels, lambda rival, truth: True
        ),
        "sign": lambda node, edge, labels: -_margin(node, edge, labels),
        "over_other_scores": _over_other_scores,
        "over_second_best": _over_second_best,
        "without_transitions": lambda node, edge, labels: _margin(node, 0 * edge, labels),
        "all_letters_differ": lambda node, edge, labels: _lead(
            node, edge, labels, lambda y, z: all(a != b for a, b in zip(y, z, strict=True))
        ),
        "truth_alone": lambda node, edge, labels: chain_score(node, edge, labels),
    },
)


def _kl(p: float, q: float) -> float:
    """Divergence of two numbers, which need not be probabilities: mistaken answers' are not."""
    return float(rel_entr(p, q) + rel_entr(1 - p, 1 - q))


def _without_zero(p: float, q: float) -> float:
    return p * math.log(p / q) + (1 - p) * math.log((1 - p) / (1 - q))


def _reversed(p: float, budget: float) -> float:
    """Bisect kl(q || p) instead of kl(p || q)."""
    return bisect(lambda q: _kl(q, p) <= budget, p, 1.0)


check_kl_inverse = Function(
    cases=[(0.1, 0.02), (0.3, 0.5), (0.02, 0.001), (0.6, 0.1), (0.5, 3.0)],
    right=kl_inverse,
    mistakes={
        "pinsker_cut": lambda p, budget: min(1.0, p + math.sqrt(budget / 2)),
        "pinsker": lambda p, budget: p + math.sqrt(budget / 2),
        "smallest_risk": lambda p, budget: 1 - float(kl_inverse(1 - p, budget)),
        "reversed": _reversed,
        "kl": _kl,
        "share": lambda p, budget: p,
        "one": lambda p, budget: 1.0,
    },
    hidden={
        "without_zero": (
            lambda p, budget: bisect(lambda q: _without_zero(p, q) <= budget, p, 1.0),
            differs(kl_inverse, (0.0, 0.1)),
        )
    },
)
