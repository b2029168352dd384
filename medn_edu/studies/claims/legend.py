"""How to read the ledger: the margins of the rules, and the units of what they look at.

Margins are read from the rules themselves, so that the page says what the program does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from medn_edu.studies.claims.algorithms import CountsAsPrinted
from medn_edu.studies.claims.constants import Overfits, Sensitive, Steady
from medn_edu.studies.claims.errors import Comparable
from medn_edu.studies.claims.inventory.shared import MUCH, SLIGHTLY
from medn_edu.studies.claims.rules import points_text
from medn_edu.studies.claims.weights import LARGE, SimilarWeights, SmallIrrelevant, UnlikeTruth

UNITS = {
    "points": "difference of two rates of wrong labels, in percentage points",
    "% of labels": "a rate of wrong labels",
    "% of weights": "difference of two shares of non-zero weights, in percentage points",
    "doublings": "a ratio's logarithm to base 2: +1 is twice as large, -1 half as large, 0 the same",
    "times as long": "a ratio of processor times",
    "times the growth": "a ratio of two such ratios",
    "hours": "processor time",
    "% of relevant weights": "mean size of irrelevant features' average weights, relative to that of "
    "relevant ones",
    "% of irrelevant weights": "a share of the irrelevant features' weights",
    "% of the true contrasts' norm": "distance of learned weights from those of the model that made the "
    "labels, as far as data can teach these; the size of the true ones is 100 %",
    "(correlation)": "1 if weights are the same up to scale, 0 if they have nothing in common",
    "(intraclass correlation)": "1 if the members of each group agree, 0 if they agree no more than any",
    "more of 200 weights": "difference of two counts of average weights",
    "of 200 are zero": "a count of average weights",
    "of 100 differ": "a count of features",
    "weights": "difference of two counts of non-zero weights",
    "weights left": "a count of irrelevant features' weights that are not zero",
    "% of a count": "by how much a count changes",
}
"""What each unit means."""


def margins(claims: Mapping[str, Any]) -> dict[str, str]:
    """Return what the papers' words are taken to mean."""
    stable, quick = claims["l1m3n-5.3.2-h"].rule, claims["l1m3n-5.3.2-i"].rule
    half, double = claims["medn-7.3-b"].rule.rules[0], claims["l1m3n-5.1-n"].rule
    return {
        '"better", "less", and other bare comparisons': "by more than 0, on average",
        '"in every setting"': "likewise, and so is the mean in each setting",
        '"as well as", "equally well"': f"within {points_text(Comparable.margin)} either way, on "
        "average with the whole interval, and the mean in each setting; so +0.93 [+0.78, +1.08] is "
        "mixed",
        '"slightly"': f"by more than 0 and at most {points_text(SLIGHTLY)}",
        '"much" worse': f"by more than {points_text(MUCH)}",
        '"sensitive" to a constant': "from the best constant to the worst the error rises by more than "
        f"{points_text(Sensitive.at_least)}",
        '"much less" sensitive': f"by less than {half.factor:g} times as much as the other's",
        '"robust", "stable" error of algorithms': f"by at most {points_text(stable.at_most)}",
        '"over-fit"': f"the test error rises by more than {points_text(Overfits.at_least)} from the "
        f'best moment of training to its end; "robust": by at most {points_text(Steady.at_most)}',
        '"extremely small" weights': f"at most {SmallIrrelevant.at_most:g} % of the relevant ones' size",
        '"large" weights': f"at least {LARGE:g} of the model's largest",
        '"similar" weights': f"correlation above {SimilarWeights.at_least:g}",
        '"much smaller" weights': f"by a factor of {double.factor:g}, that is, 1 doubling",
        '"far" from the truth': f"by more than {UnlikeTruth.above:g} % of its norm",
        "counts as printed": f"within {CountsAsPrinted.within}",
        '"stable" times': f"the longest at most {quick.at_most:g} times the shortest",
        '"extremely slow"': f"by a factor of {claims['medn-7-a'].rule.factor:g}",
    }
