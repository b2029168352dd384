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
from medn_edu.course.exercises.declarations import Choice, Function, Judged, Number
from medn_edu.theory.axi import AXI, TinyWord, labelling_scores, text

check_word_score = Number(right=7.0)

check_faulty_table = Choice(right="b")

check_jump = Number(right=1.5)

check_shortfall = Number(right=0.25)

_TIE = 1e-9
_KEPT = 0.9 * np.eye(3)[AXI.true]


def _judge_word(answer: Any) -> str | None:
    ink = np.array(answer, dtype=float)
    if ink.shape != (3, 3):
        return f"expected three rows of three numbers; yours has the shape {ink.shape}."
    if not np.isfinite(ink).all() or abs(ink).max() > 1e6:
        return "every ink must be an ordinary number, not nan, infinite or astronomically large."
    word = TinyWord("axi", ink)
    scores = labelling_scores(word, [1.0, 1.0])
    margins = scores[word.true_row] - scores
    others = [row for row in range(len(scores)) if row != word.true_row]
    violations = word.losses - margins
    ahead = min(others, key=lambda row: margins[row])
    if margins[ahead] <= _TIE:
        level = "scores just as high" if margins[ahead] > -_TIE else "scores higher"
        name = text(word.labellings[ahead])
        return f"axi isn't the prediction, because {name} {level}. Give the true labels more ink."
    tied = [row for row in others if margins[row] < margins[ahead] + _TIE]
    if any(violations[row] > _TIE for row in tied):
        row = max(tied, key=lambda row: violations[row])
        name, margin, loss = text(word.labellings[row]), margins[row], word.losses[row]
        return (
            f"the runner-up {name} violates its margin: it's {margin:.2f}, and we want {loss:.0f}. "
            "Give the true labels more ink, or the ones next to them less."
        )
    if violations[others].max() <= _TIE:
        return (
            "no labelling violates its margin. Give the true labels less ink: which rivals also "
            "have two liked pairs, so that only the ink keeps them behind axi?"
        )
    return None


check_invented_word = Judged(
    right=_KEPT,
    expected="a table of ink like AXI.ink: three rows of three numbers",
    judge=_judge_word,
    mistakes=[AXI.ink, np.zeros((3, 3)), 0.2 * _KEPT, np.ones(3), -np.eye(3)],
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
