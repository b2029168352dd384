"""Checks of the exercises of errata."""

import numpy as np

from medn_edu.course.exercises.declarations import Choice, Function

check_what_settles = Choice(right="d")

check_best_alpha = Function(
    cases=[(1.0, 8.0), (0.05, 8.0), (2.0, 0.25), (3.0, 1.0)],
    right=lambda C, square: min(C, 1 / square),
    mistakes={
        "printed_equality": lambda C, square: C,
        "unbounded": lambda C, square: 1 / square,
        "zero_of_D1": lambda C, square: min(C, 2 / square),
        "larger_of_two": lambda C, square: max(C, 1 / square),
    },
)


check_which_program = Choice(right="b")


def _normalised(n: np.ndarray) -> np.ndarray:
    return np.asarray(n / n.sum())


rng = np.random.default_rng(1)
check_message = Function(
    cases=[
        (rng.uniform(0.5, 2, size=k), rng.uniform(0.5, 2, size=(n, k)), n - 1)
        for n, k in ((2, 2), (2, 3), (3, 2), (4, 4))
    ],
    right=lambda phi, m, a: _normalised(phi * m.prod(axis=0) / m[a]),
    mistakes={
        "as_printed": lambda phi, m, a: _normalised(phi * m.prod(axis=0) / m[a] ** 2),
        "belief": lambda phi, m, a: _normalised(phi * m.prod(axis=0)),
        "not_normalised": lambda phi, m, a: phi * m.prod(axis=0) / m[a],
        "without_phi": lambda phi, m, a: _normalised(m.prod(axis=0) / m[a]),
        "own_message": lambda phi, m, a: _normalised(phi * m[a]),
    },
)
