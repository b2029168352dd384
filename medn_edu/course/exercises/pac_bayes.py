"""Checks of the exercises of pac-bayes."""

import math
from typing import Any

import numpy as np
from scipy.special import rel_entr

from medn_edu.course.exercises._shared import bisect
from medn_edu.course.exercises.declarations import Choice, Function, Judged, Number, differs
from medn_edu.theory.bounds import Terms, kl_inverse

_RISK, _DELTA = 0.02, 0.05
_NO_HEADS = -math.log(1 - _RISK)  # kl(0 || R), what one toss adds
check_quiet_coin = Number(
    right=math.ceil(-math.log(_DELTA) / _NO_HEADS),
    mistakes={
        "rounded_down": math.floor(-math.log(_DELTA) / _NO_HEADS),
        "pinsker": math.ceil(-math.log(_DELTA) / (2 * _RISK**2)),
        "budget": math.ceil(-math.log(_DELTA) / _RISK),
        "delta_swapped": math.ceil(-math.log(1 - _DELTA) / _NO_HEADS),
        "log_10": math.ceil(-math.log10(_DELTA) / _NO_HEADS),
        "one_head": round(1 / _RISK),
    },
)

check_too_good = Choice(right="c")

_LETTERS_OF_OCR, _LOSS = 26, 0.05
_LEAST_KL, _LARGEST_RATIO, _SHORTEST, _MOST_WORDS = 1.0, 0.5, 3, 10_000


def _judge_problem(answer: Any) -> str | None:
    """Look at the limits first, and then at the largest term."""
    numbers = [float(each) for each in answer]
    if len(numbers) != 4:
        return f"expected four numbers, KL, gamma / c, letters and N; yours are {len(numbers)}."
    if not np.isfinite(numbers).all():
        return "every number must be finite."
    divergence, ratio, letters, n = numbers
    if divergence < _LEAST_KL:
        return f"KL is {divergence:g}, and it must be at least 1."
    if not 0.001 <= ratio <= _LARGEST_RATIO:
        return f"gamma / c is {ratio:g}; it must be at most 0.5, and at least 0.001."
    if letters < _SHORTEST or letters != int(letters) or letters > 1000:
        return f"words have {letters:g} letters; expected a whole number from 3 to 1,000."
    if not 1 <= n <= _MOST_WORDS or n != int(n):
        return f"N is {n:g}; expected a whole number from 1 to 10,000."
    return _largest_term(divergence, ratio, letters, n)


def _largest_term(divergence: float, ratio: float, letters: float, n: float) -> str | None:
    """Say which term keeps the bound above one half, if it is there."""
    labellings = letters * math.log(_LETTERS_OF_OCR)
    terms = Terms(n, _LOSS, ratio, labellings, divergence, _DELTA)
    m = terms.papers_m()
    bound, averaging, root = (
        float(each) for each in (terms.value(m), terms.averaging(m), terms.root(m))
    )
    if bound < 0.5:
        return None
    said = (
        f"the bound is {bound:.3g}, with 0.05 + averaging {averaging:.2g} + complexity {root:.2g}. "
    )
    if averaging > root:
        return said + "The averaging term is sqrt((KL + 1) / N), so N is too small or KL too large."
    if m * divergence < 0.5 * root**2 * (2 * n - 1):
        return said + "m KL is small, so it must be N: the other terms need some words too."
    return said + f"Inside its root m KL is {float(m) * divergence:,.0f}: make m, or KL, smaller."


check_invented_problem = Judged(
    right=(1.0, 0.5, 3, 10_000),
    expected="four numbers in brackets, such as (10, 0.1, 3, 1000)",
    judge=_judge_problem,
    mistakes=[
        (1.0, 0.5, 3),
        (0.1, 0.5, 3, 10_000),
        (1.0, 2.0, 3, 10_000),
        (1.0, 0.5, 1, 10_000),
        (1.0, 0.5, 3, 10**6),
        (10.0, 0.1, 3, 10_000),
        (1.0, 0.5, 3, 1),
        (1.0, 0.5, 30, 10_000),
    ],
)

check_what_follows = Choice(right="b")


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
