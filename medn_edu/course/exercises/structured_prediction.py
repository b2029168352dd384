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

check_word_score = Number(
    "the score of the labelling iax of the word axi under the weights (1, 2)",
    right=7.0,
    praise="ink 0 + 2 + 1, and twice the two liked pairs i-a and a-x.",
    mistakes={
        3.0: "that is the ink alone; i-a and a-x are pairs that the script likes.",
        5.0: "*two* pairs are liked, i-a and a-x, and the habit weighs 2.",
        8.0: "the weights are swapped: w = (1, 2) is 1 for the ink and 2 for the habit.",
        4.0: "that is the habit alone; the ink gives 0 + 2 + 1.",
        9.0: "three letters have two pairs of neighbours, not three.",
    },
)

check_jump = Number(
    "the habit weight at which the best path of axi jumps when the ink weighs 3",
    right=1.5,
    praise="8 w1 = 7 w1 + 2 w2, so w2 = w1 / 2: the path depends on the ratio of the weights only.",
    mistakes={
        0.5: "that is so when the ink weighs 1; here it weighs 3.",
        3.0: "axi has *two* liked pairs, so its score rises by 2 w2.",
        6.0: "upside down: 8 w1 = 7 w1 + 2 w2 gives w2 = w1 / 2.",
        -1.5: "the sign: axi has *less* ink, so it needs a *positive* habit.",
        12.0: "axi has ink too, 7 w1 of it: solve 8 w1 = 7 w1 + 2 w2.",
        24.0: "that is the score of aai; asked is the w2 at which axi reaches it.",
    },
)

check_shortfall = Number(
    "by how much aax violates its margin, under the weights (1, 0.75)",
    right=0.25,
    praise="loss 2, margin 1 + 0.75. And aai, with one letter wrong, is short by 0.5: it is the worst.",
    mistakes={
        1.75: "that is the margin; asked is what is missing to the loss.",
        2.0: "that is the loss, the margin wanted; subtract the margin there is.",
        -0.25: "the sign: loss *minus* margin.",
        3.75: "loss *minus* margin, not plus.",
        -0.75: "the loss counts wrong letters, and aax has two of them.",
        6.75: "that is the score of aax; the margin is the distance to the score of axi.",
        0.5: "that is what aai lacks; asked is aax.",
    },
)


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
    "augmented(node, true): node scores with the Hamming loss added",
    cases=[(node, rng.integers(node.shape[1], size=len(node))) for node, _ in chain_cases(6)],
    right=add_loss,
    praise="training needs no other algorithm than prediction. The package calls it add_loss.",
    mistakes=[
        (
            _shifted(1, 1),
            "1 more *everywhere* favours nothing; the true label of each letter gets none.",
        ),
        (_shifted(0, 1), "that favours the truth; the loss is what *wrong* labels have."),
        (
            _shifted(0, -1),
            "the best path is the right one, but its score is too small by the number of "
            "letters: add 1 to the wrong labels.",
        ),
        (
            _shifted(-1, 0),
            "the sign: subtracting asks for a *good* labelling, training for the worst.",
        ),
        (_shifted(0, 0), "the node scores are still the old ones."),
        (
            lambda node, true: add_loss(0 * node, true),
            "that is the loss alone; add it to the node scores.",
        ),
    ],
    hidden=[
        (
            _in_place,
            "right, but it changes `node` itself, and prediction needs it: copy it first.",
            _changes_node,
        ),
    ],
    otherwise="some results differ; augmented(np.zeros((2, 3)), [0, 2]) is [[0, 1, 1], [1, 1, 0]].",
)

check_viterbi = Function(
    "viterbi(node, edge) that returns the best path of a chain",
    cases=[*chain_cases(4), *chain_cases(7)],
    right=viterbi,
    praise="the same path as by trying every labelling, for n k^2 additions instead of k^n scores.",
    mistakes=[
        (
            lambda node, edge: node.argmax(axis=1),
            "that reads each letter alone; edge must play a part.",
        ),
        (
            greedy,
            "that decides letter by letter and never reconsiders; keep the best path to *every* "
            "label, and decide at the end.",
        ),
        (
            best_prefix_ends,
            "the table is right, but its largest numbers need not lie on one path; start from the "
            "last column's and follow the back-pointers.",
        ),
        (
            lambda node, edge: viterbi(node, edge.T),
            "edge is [label before, label after]; yours is the other way round.",
        ),
        (
            lambda node, edge: viterbi(node, edge)[::-1],
            "that is the right path from its end to its beginning; turn it round.",
        ),
        (
            lambda node, edge: chain_score(node, edge, viterbi(node, edge)),
            "that is the best path's score; return the path.",
        ),
    ],
    hidden=[
        (
            best_of_all,
            "right, but it looks at every labelling: 4^9 of them take a while, 10^10 for ever. "
            "Fill the table letter by letter.",
            lists_labellings,
        ),
    ],
    otherwise="some paths differ; try node = [[3, 1, 0], [2, 1, 0], [0, 1, 3]] and edge = HABIT: "
    "[0, 1, 2].",
)
