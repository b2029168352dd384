"""Checks of the exercises of start-here."""

from __future__ import annotations

from typing import Any

import numpy as np

from medn_edu.course.exercises._chains import chain_cases, chain_score
from medn_edu.course.exercises._judging import Verdict, check, judge_function, judge_number


@check
def check_count_labellings(answer: Any) -> Verdict:
    """Check how many labellings a word of five digits has.

    Parameters
    ----------
    answer : object
        The learner's number.

    Examples
    --------
    >>> check_count_labellings(50)
    Not quite: labels add up only if you choose *one* letter; here every letter has a label.
    """
    return judge_number(
        answer,
        10**5,
        "ten choices, five times over: 10^5. Searching them one by one ends at long words.",
        {
            50: "labels add up only if you choose *one* letter; here every letter has a label.",
            5**10: "base and exponent are swapped: each of *five* digits has *ten* choices.",
            10 * 9 * 8 * 7 * 6: "a digit may come twice, so the choices do not become fewer.",
        },
    )


@check
def check_just_enough(answer: Any) -> Verdict:
    """Check the smallest strength of the transitions at which no digit of the word is wrong.

    Parameters
    ----------
    answer : object
        The learner's number.

    Examples
    --------
    >>> check_just_enough(1.0)
    Not quite: that is the model as trained, and right; do smaller strengths do it, too?
    """
    return judge_number(
        answer,
        0.6,
        "one step earlier the second digit is a 2. Up to 1.4 all six are right.",
        {
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


@check
def check_labelling_score(answer: Any) -> Verdict:
    """Check a function ``score(node, edge, labels)``.

    Parameters
    ----------
    answer : object
        The learner's function.

    Examples
    --------
    >>> def score(node, edge, labels):
    ...     return sum(node[t, label] for t, label in enumerate(labels))
    >>> check_labelling_score(score)
    Not quite: the transitions are missing; without them every letter is read alone.
    """
    rng = np.random.default_rng(1)
    cases = [(n, e, rng.integers(n.shape[1], size=n.shape[0])) for n, e in chain_cases()]
    return judge_function(
        answer,
        cases,
        chain_score,
        "what the pixels say, plus one transition for each pair of neighbours: F(x, y; w).",
        [
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
