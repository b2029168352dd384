"""Checks of the exercises of start-here."""

import numpy as np

from medn_edu.course.exercises._shared import chain_cases, chain_score
from medn_edu.course.exercises.declarations import Function, Number

check_count_labellings = Number(
    "how many labellings a word of five digits has",
    right=10**5,
    praise="ten choices, five times over: 10^5. Searching them one by one ends at long words.",
    mistakes={
        50: "labels add up only if you choose *one* letter; here every letter has a label.",
        5**10: "base and exponent are swapped: each of *five* digits has *ten* choices.",
        10 * 9 * 8 * 7 * 6: "a digit may come twice, so the choices do not become fewer.",
    },
)

check_just_enough = Number(
    "the smallest strength of the transitions at which no digit of the word is wrong",
    right=0.6,
    praise="one step earlier the second digit is a 2. Up to 1.4 all six are right.",
    mistakes={
        1.0: "that is the model as trained, and right; do smaller strengths do it, too?",
        0.1: "there the path jumps, but one digit is still wrong.",
        0.05: "there the path jumps for the first time, and three digits are still wrong.",
        0.55: "one digit is still wrong there; one step more.",
        1.4: "that is the *largest* strength at which all are right.",
        1.45: "there the grammar is too strong, and the last digit goes wrong.",
        0.65: "one step less will do.",
        0.0: "without transitions four of the six digits are wrong.",
    },
)

rng = np.random.default_rng(1)
check_labelling_score = Function(
    "score(node, edge, labels)",
    cases=[(n, e, rng.integers(n.shape[1], size=n.shape[0])) for n, e in chain_cases()],
    right=chain_score,
    praise="what the pixels say, plus one transition for each pair of neighbours: F(x, y; w).",
    mistakes=[
        (
            lambda n, e, y: chain_score(n, 0 * e, y),
            "the transitions are missing; without them every letter is read alone.",
        ),
        (
            lambda n, e, y: chain_score(n, e.T, y),
            "edge is [label before, label after]; yours is the other way round.",
        ),
        (
            lambda n, e, y: chain_score(n, e, y) + e[y[-1], y[0]],
            "a word of n letters has n - 1 transitions; yours runs from the last to the first.",
        ),
        (lambda n, e, y: chain_score(0 * n, e, y), "what the pixels say, `node`, is missing."),
    ],
)
