"""Checks of the exercises of start-here."""

import numpy as np

from medn_edu.course.exercises._shared import chain_cases, chain_score
from medn_edu.course.exercises.declarations import Function, Number

check_count_labellings = Number(
    right=10**5,
    mistakes={
        "base_and_exponent_swapped": 5**10,
        "no_digit_twice": 10 * 9 * 8 * 7 * 6,
        "caret": 10 ^ 5,
    },
)

check_painted_border = Number(right=143.5 / 841)  # 143 or 144 digits: solvers stop at a tolerance

check_just_enough = Number(right=0.6)

rng = np.random.default_rng(1)
check_labelling_score = Function(
    cases=[(n, e, rng.integers(n.shape[1], size=n.shape[0])) for n, e in chain_cases()],
    right=chain_score,
    mistakes={
        "without_transitions": lambda n, e, y: chain_score(n, 0 * e, y),
        "edge_transposed": lambda n, e, y: chain_score(n, e.T, y),
        "in_a_circle": lambda n, e, y: chain_score(n, e, y) + e[y[-1], y[0]],
        "without_ink": lambda n, e, y: chain_score(0 * n, e, y),
    },
)
