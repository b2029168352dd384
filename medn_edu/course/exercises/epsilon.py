"""Checks of the exercises of epsilon."""

from typing import Any

import numpy as np
from scipy.special import softmax

from medn_edu.course.exercises._shared import chain_score, soft_best, soft_max
from medn_edu.course.exercises.declarations import Choice, Function, Judged, Number, differs

check_two_scores = Number(
    right=3 + 0.5 * np.log(2),
    mistakes={
        "at_epsilon_one": 3 + np.log(2),
        "scores_not_multiplied": 6 + np.log(2),
        "log_divided": 3 + 2 * np.log(2),
        "scores_not_divided": 1.5 + 0.5 * np.log(2),
        "log_base_ten": 3 + 0.5 * np.log10(2),
    },
)

check_which_soft_max = Choice(right="c")

_TIE = 1e-9


def _judge_two_verdicts(answer: Any) -> str | None:
    both = np.array(answer, dtype=float)
    if both.shape != (2, 4):
        return f"expected two rows of four numbers; yours has the shape {both.shape}."
    if not np.isfinite(both).all() or abs(both).max() > 1e6:
        return (
            "every violation must be an ordinary number, not nan, infinite or astronomically large."
        )
    if np.any(abs(both[:, 0]) > _TIE):
        return "each row begins with the true labelling, and its violation is 0 under all weights."
    hard, soft = both.max(axis=1), soft_max(both, 1.0, axis=1)
    seen = f"The maxima are {hard[0]:.2f} (A) and {hard[1]:.2f} (B)"
    if hard[0] >= hard[1] - _TIE:
        return f"{seen}, so M3N doesn't prefer A. A's largest violation must be the smaller one."
    if soft[1] >= soft[0] - _TIE:
        values = f"the soft maxima {soft[0]:.2f} (A) and {soft[1]:.2f} (B)"
        return (
            f"{seen}, and {values}. So both losses prefer A. Give A more rivals close to its largest "
            "violation, or take them away from B."
        )
    return None


check_two_verdicts = Judged(
    right=[[0.0, 1.0, 1.0, 1.0], [0.0, 1.5, -2.0, -2.0]],
    expected="two rows of four violations, A first",
    judge=_judge_two_verdicts,
    mistakes=[
        [[0.0, 1.0, 1.0, 1.0], [0.0, 3.0, 1.0, 1.0]],
        [[0.0, 1.5, -2.0, -2.0], [0.0, 1.0, 1.0, 1.0]],
        [[1.0, 1.0, 1.0, 1.0], [1.5, -2.0, -2.0, -2.0]],
        np.zeros((2, 4)),
        np.zeros(4),
    ],
)


def _cooler(p: np.ndarray, epsilon: float) -> np.ndarray:
    return softmax(np.log(p) / epsilon)


check_cooler = Function(
    cases=[
        (np.array([0.5, 0.3, 0.2]), 0.5),
        (np.array([0.1, 0.0, 0.6, 0.3]), 0.2),
        (np.array([0.7, 0.2, 0.1]), 4.0),
    ],
    right=_cooler,
    mistakes={
        "not_normalised": lambda p, epsilon: p ** (1 / epsilon),
        "exponent_epsilon": lambda p, epsilon: p**epsilon / np.sum(p**epsilon),
        "probabilities_as_scores": lambda p, epsilon: softmax(p / epsilon),
        "not_cooled": lambda p, epsilon: p,
        "limit": lambda p, epsilon: (p == p.max()) / np.sum(p == p.max()),
    },
    hidden={
        "underflowing": (
            lambda p, epsilon: p ** (1 / epsilon) / np.sum(p ** (1 / epsilon)),
            differs(_cooler, (np.array([0.3, 0.3, 0.4, 0.0]), 1e-3)),
        )
    },
)


def _with_loss(node: np.ndarray, y: np.ndarray) -> np.ndarray:
    return node + (np.arange(node.shape[1]) != np.asarray(y)[:, None])


def _soft_hinge(node: np.ndarray, edge: np.ndarray, y: np.ndarray, epsilon: float) -> float:
    return soft_best(_with_loss(node, y), edge, epsilon) - chain_score(node, edge, y)


def _words(*epsilons: float) -> list[tuple[Any, ...]]:
    """Return a word for each temperature."""
    rng, words = np.random.default_rng(10), []
    for (t, k), epsilon in zip([(4, 3), (2, 5), (6, 2)], epsilons, strict=True):
        node, edge = rng.normal(scale=2.0, size=(t, k)), rng.normal(scale=2.0, size=(k, k))
        words.append((node, edge, rng.integers(k, size=t), epsilon))
    return words


def _overflowing(node: np.ndarray, edge: np.ndarray, y: np.ndarray, epsilon: float) -> float:
    below = np.exp(_with_loss(node, y) / epsilon)
    for here in below[1:]:
        below[0] = here * (below[0] @ np.exp(edge / epsilon))
    return epsilon * np.log(below[0].sum()) - chain_score(node, edge, y)


check_what_it_shows = Choice(right="c")

check_soft_hinge = Function(
    cases=_words(1.0, 0.4, 2.5),
    right=_soft_hinge,
    mistakes={
        "without_loss": lambda node, edge, y, epsilon: (
            soft_best(node, edge, epsilon) - chain_score(node, edge, y)
        ),
        "without_truth": lambda node, edge, y, epsilon: soft_best(
            _with_loss(node, y), edge, epsilon
        ),
        "hinge": lambda node, edge, y, epsilon: _soft_hinge(node, edge, y, 0.0),
        "epsilon_one": lambda node, edge, y, epsilon: _soft_hinge(node, edge, y, 1.0),
        "divided_only": lambda node, edge, y, epsilon: (
            soft_best(_with_loss(node, y) / epsilon, edge / epsilon, 1.0)
            - chain_score(node, edge, y)
        ),
        "edge_transposed": lambda node, edge, y, epsilon: (
            soft_best(_with_loss(node, y), edge.T, epsilon) - chain_score(node, edge, y)
        ),
        "letters_alone": lambda node, edge, y, epsilon: (
            soft_max(_with_loss(node, y), epsilon, axis=1).sum() - chain_score(node, edge, y)
        ),
    },
    hidden={
        "overflowing": (_overflowing, differs(_soft_hinge, *_words(1e-3, 1e-4, 1e-3))),
        "fails_at_zero": (
            lambda node, edge, y, epsilon: _soft_hinge(node, edge, y, epsilon) if epsilon else None,
            differs(_soft_hinge, *_words(0.0, 0.0, 0.0)),
        ),
    },
)
