"""Checks of the exercises of structured-prediction."""

from typing import Any

import numpy as np

from medn_edu.course.exercises._shared import (
    best_of_all,
    best_prefix_ends,
    chain_cases,
    chain_score,
    greedy,
    lists_labellings,
    viterbi,
)
from medn_edu.course.exercises.declarations import Function, Number
from medn_edu.inference import add_loss

check_word_score = Number(right=7.0)

check_jump = Number(right=1.5)

check_shortfall = Number(right=0.25)


def _shifted(wrong: float, right: float) -> Any:
    def shift(node: np.ndarray, true: np.ndarray) -> np.ndarray:
        loss = add_loss(np.zeros_like(node), true)
        return np.asarray(node + wrong * loss + right * (1 - loss))

    return shift


def _in_place(node: np.ndarray, true: np.ndarray) -> np.ndarray:
    node[:] = add_loss(node, true)
    return node


def _changes_node(answer: Any) -> bool:
    node = np.zeros((4, 3))
    answer(node, np.array([0, 1, 2, 0]))
    return bool(node.any())


rng = np.random.default_rng(11)
check_loss_augmented = Function(
    cases=[(node, rng.integers(node.shape[1], size=len(node))) for node, _ in chain_cases(6)],
    right=add_loss,
    mistakes={
        "one_everywhere": _shifted(1, 1),
        "truth_favoured": _shifted(0, 1),
        "truth_lowered": _shifted(0, -1),
        "subtracted": _shifted(-1, 0),
        "unchanged": _shifted(0, 0),
        "loss_alone": lambda node, true: add_loss(0 * node, true),
    },
    hidden={"in_place": (_in_place, _changes_node)},
)

check_viterbi = Function(
    cases=[*chain_cases(4), *chain_cases(7)],
    right=viterbi,
    mistakes={
        "letters_alone": lambda node, edge: node.argmax(axis=1),
        "greedy": greedy,
        "best_prefix_ends": best_prefix_ends,
        "edge_transposed": lambda node, edge: viterbi(node, edge.T),
        "from_end_to_start": lambda node, edge: viterbi(node, edge)[::-1],
        "score_of_path": lambda node, edge: chain_score(node, edge, viterbi(node, edge)),
    },
    hidden={"best_of_all": (best_of_all, lists_labellings)},
)
