"""Checks of the exercises of errata."""

import numpy as np

from medn_edu.course.exercises.declarations import Function

check_best_alpha = Function(
    "best_alpha(C, square): what D1 puts on the only wrong labelling",
    cases=[(1.0, 8.0), (0.05, 8.0), (2.0, 0.25), (3.0, 1.0)],
    right=lambda C, square: min(C, 1 / square),
    praise="at most C, and no more than the margin costs. The printed equality would always take C.",
    mistakes=[
        (lambda C, square: C, "that is the printed equality; an easy margin wants less than C."),
        (
            lambda C, square: 1 / square,
            "where D1 is largest if nothing bounds alpha; but it may not exceed C.",
        ),
        (
            lambda C, square: min(C, 2 / square),
            "there D1 is 0 again; it is largest half-way, where its slope is 0.",
        ),
        (lambda C, square: max(C, 1 / square), "the larger of the two; alpha must be at most C."),
    ],
    otherwise="some results differ; draw D1 for C = 1 and square = 8.",
)


def _slope(z: np.ndarray, theta: np.ndarray, C: float, p: float) -> np.ndarray:
    return np.asarray(z + C * np.abs(theta) ** (p - 1) * np.sign(theta))


rng = np.random.default_rng(0)
check_slope = Function(
    "slope(z, theta, C, p): the gradient (4) of the ASP paper, as it should be",
    cases=[
        (rng.normal(size=3), rng.normal(size=3), C, p)
        for C, p in ((0.5, 2.0), (3.0, 1.5), (0.2, 3.0), (2.0, 4.0))
    ],
    right=_slope,
    praise="the factor C of Eq. (3) is in its slope too, as Lemma 4 has it.",
    mistakes=[
        (
            lambda z, theta, C, p: _slope(z, theta, 1.0, p),
            "that is Eq. (4) as printed: with it C has no say.",
        ),
        (
            lambda z, theta, C, p: _slope(z, theta, C / p, p),
            "the derivative of |t|^p brings a p down, which cancels the 1/p.",
        ),
        (
            lambda z, theta, C, p: z + C * np.abs(theta) ** (p - 1),
            "the sign of theta is missing: negative weights are pulled up.",
        ),
        (lambda z, theta, C, p: z + C * theta, "right for p = 2 only; the power is p - 1."),
        (
            lambda z, theta, C, p: _slope(z, theta, -C, p),
            "the regulariser is added in Eq. (3), so its slope is too.",
        ),
    ],
    otherwise="some slopes differ; compare with (value(t + h) - value(t - h)) / 2h.",
)


def _normalised(n: np.ndarray) -> np.ndarray:
    return np.asarray(n / n.sum())


rng = np.random.default_rng(1)
check_message = Function(
    "message(phi, m, a): what a node tells its factor a",
    cases=[
        (rng.uniform(0.5, 2, size=k), rng.uniform(0.5, 2, size=(n, k)), n - 1)
        for n, k in ((2, 2), (2, 3), (3, 2), (4, 4))
    ],
    right=lambda phi, m, a: _normalised(phi * m.prod(axis=0) / m[a]),
    praise="all that the node knows, less what this factor has said, taken out once.",
    mistakes=[
        (
            lambda phi, m, a: _normalised(phi * m.prod(axis=0) / m[a] ** 2),
            "that is the printed rule: a's own message is left out and divided by as well.",
        ),
        (
            lambda phi, m, a: _normalised(phi * m.prod(axis=0)),
            "that is the node's belief; the factor must not hear its own message back.",
        ),
        (
            lambda phi, m, a: phi * m.prod(axis=0) / m[a],
            "right but for a constant: divide by the sum.",
        ),
        (
            lambda phi, m, a: _normalised(m.prod(axis=0) / m[a]),
            "what the node knows itself, phi, is missing.",
        ),
        (
            lambda phi, m, a: _normalised(phi * m[a]),
            "that is a's own message; wanted are all the others'.",
        ),
    ],
    otherwise="some messages differ; try a node with phi = (1, 1) and two factors.",
)
