"""Checks of the exercises of structured-prediction."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from medn_edu.course.exercises._chains import (
    chain_cases,
    chain_score,
    lists_labellings,
)
from medn_edu.course.exercises._judging import Verdict, check, judge_function, judge_number
from medn_edu.inference import add_loss


@check
def check_word_score(answer: Any) -> Verdict:
    """Check the score of the labelling iax of the word axi under the weights (1, 2).

    Parameters
    ----------
    answer : object
        The learner's number.

    Examples
    --------
    >>> check_word_score(3)
    Not quite: that is the ink alone; i-a and a-x are pairs that the script likes.
    """
    return judge_number(
        answer,
        7.0,
        "ink 0 + 2 + 1, and twice the two liked pairs i-a and a-x.",
        {
            3.0: "that is the ink alone; i-a and a-x are pairs that the script likes.",
            5.0: "*two* pairs are liked, i-a and a-x, and the habit weighs 2.",
            8.0: "the weights are swapped: w = (1, 2) is 1 for the ink and 2 for the habit.",
            4.0: "that is the habit alone; the ink gives 0 + 2 + 1.",
            9.0: "three letters have two pairs of neighbours, not three.",
        },
    )


@check
def check_jump(answer: Any) -> Verdict:
    """Check the habit weight at which the best path of axi jumps when the ink weighs 3.

    Parameters
    ----------
    answer : object
        The learner's number.

    Examples
    --------
    >>> check_jump(3)
    Not quite: axi has *two* liked pairs, so its score rises by 2 w2.
    """
    return judge_number(
        answer,
        1.5,
        "8 w1 = 7 w1 + 2 w2, so w2 = w1 / 2: the path depends on the ratio of the weights only.",
        {
            0.5: "that is so when the ink weighs 1; here it weighs 3.",
            3.0: "axi has *two* liked pairs, so its score rises by 2 w2.",
            6.0: "upside down: 8 w1 = 7 w1 + 2 w2 gives w2 = w1 / 2.",
            -1.5: "the sign: axi has *less* ink, so it needs a *positive* habit.",
            12.0: "axi has ink too, 7 w1 of it: solve 8 w1 = 7 w1 + 2 w2.",
            24.0: "that is the score of aai; asked is the w2 at which axi reaches it.",
        },
    )


@check
def check_shortfall(answer: Any) -> Verdict:
    """Check by how much aax violates its margin, under the weights (1, 0.75).

    Parameters
    ----------
    answer : object
        The learner's number.

    Examples
    --------
    >>> check_shortfall(1.75)
    Not quite: that is the margin; asked is what is missing to the loss.
    """
    return judge_number(
        answer,
        0.25,
        "loss 2, margin 1 + 0.75. And aai, with one letter wrong, is short by 0.5: it is the worst.",
        {
            1.75: "that is the margin; asked is what is missing to the loss.",
            2.0: "that is the loss, the margin wanted; subtract the margin there is.",
            -0.25: "the sign: loss *minus* margin.",
            3.75: "loss *minus* margin, not plus.",
            -0.75: "the loss counts wrong letters, and aax has two of them.",
            6.75: "that is the score of aax; the margin is the distance to the score of axi.",
            0.5: "that is what aai lacks; asked is aax.",
        },
    )


@check
def check_loss_augmented(answer: Any) -> Verdict:
    """Check a function ``augmented(node, true)``: node scores with the Hamming loss added.

    Parameters
    ----------
    answer : object
        The learner's function.

    Examples
    --------
    >>> check_loss_augmented(lambda node, true: node + 1)
    Not quite: 1 more *everywhere* favours nothing; the true label of each letter gets none.
    """

    def shifted(wrong: float, right: float) -> Any:
        def shift(node: np.ndarray, true: np.ndarray) -> np.ndarray:
            loss = add_loss(np.zeros_like(node), true)
            return np.asarray(node + wrong * loss + right * (1 - loss))

        return shift

    rng = np.random.default_rng(11)
    cases = [(node, rng.integers(node.shape[1], size=len(node))) for node, _ in chain_cases(6)]
    verdict = judge_function(
        answer,
        cases,
        add_loss,
        "training needs no other algorithm than prediction. The package calls it add_loss.",
        [
            (
                shifted(1, 1),
                "1 more *everywhere* favours nothing; the true label of each letter gets none.",
            ),
            (
                shifted(0, 1),
                "that favours the truth; the loss is what *wrong* labels have.",
            ),
            (
                shifted(0, -1),
                "the best path is the right one, but its score is too small by the number of "
                "letters: add 1 to the wrong labels.",
            ),
            (
                shifted(-1, 0),
                "the sign: subtracting asks for a *good* labelling, training for the worst.",
            ),
            (
                shifted(0, 0),
                "the node scores are still the old ones.",
            ),
            (
                lambda node, true: add_loss(0 * node, true),
                "that is the loss alone; add it to the node scores.",
            ),
        ],
        "some results differ; augmented(np.zeros((2, 3)), [0, 2]) is [[0, 1, 1], [1, 1, 0]].",
    )
    if verdict[0] and _changes(answer, *cases[0]):
        return False, "right, but it changes `node` itself, and prediction needs it: copy it first."
    return verdict


def _changes(answer: Any, node: np.ndarray, true: np.ndarray) -> bool:
    given = node.copy()
    answer(given, true.copy())
    return not np.array_equal(given, node)


def _enumerated(node: np.ndarray, edge: np.ndarray) -> tuple[int, ...]:
    labellings = itertools.product(range(node.shape[1]), repeat=len(node))
    return max(labellings, key=lambda labels: chain_score(node, edge, labels))


def _never_back(node: np.ndarray, edge: np.ndarray) -> list[int]:
    """Pick label after label, each the best one after the label just picked."""
    path = [int(node[0].argmax())]
    for here in node[1:]:
        path.append(int((here + edge[path[-1]]).argmax()))
    return path


def _column_maxima(node: np.ndarray, edge: np.ndarray) -> list[int]:
    """Fill the table, but take the largest number of each column instead of the pointers."""
    best = [node[0]]
    for here in node[1:]:
        best.append(here + (best[-1][:, None] + edge).max(axis=0))
    return [int(column.argmax()) for column in best]


def _backwards(node: np.ndarray, edge: np.ndarray) -> tuple[int, ...]:
    return _enumerated(node, edge)[::-1]


@check
def check_viterbi(answer: Any) -> Verdict:
    """Check a function ``viterbi(node, edge)`` that returns the best path of a chain.

    Parameters
    ----------
    answer : object
        The learner's function.

    Examples
    --------
    >>> check_viterbi(lambda node, edge: node.argmax(axis=1))
    Not quite: that reads each letter alone; edge must play a part.
    """
    verdict = judge_function(
        answer,
        [*chain_cases(4), *chain_cases(7)],
        _enumerated,
        "the same path as by trying every labelling, for n k^2 additions instead of k^n scores.",
        [
            (
                lambda node, edge: node.argmax(axis=1),
                "that reads each letter alone; edge must play a part.",
            ),
            (
                _never_back,
                "that decides letter by letter and never reconsiders; keep the best path to *every* "
                "label, and decide at the end.",
            ),
            (
                _column_maxima,
                "the table is right, but its largest numbers need not lie on one path; start from the "
                "last column's and follow the back-pointers.",
            ),
            (
                lambda node, edge: _enumerated(node, edge.T),
                "edge is [label before, label after]; yours is the other way round.",
            ),
            (
                _backwards,
                "that is the right path from its end to its beginning; turn it round.",
            ),
            (
                lambda node, edge: chain_score(node, edge, _enumerated(node, edge)),
                "that is the best path's score; return the path.",
            ),
        ],
        "some paths differ; try node = [[3, 1, 0], [2, 1, 0], [0, 1, 3]] and edge = HABIT: [0, 1, 2].",
    )
    if verdict[0] and lists_labellings(answer):
        return False, (
            "right, but it looks at every labelling: 4^9 of them take a while, 10^10 for ever. "
            "Fill the table letter by letter."
        )
    return verdict
