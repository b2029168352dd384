"""Checks of the exercises of pac-bayes."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import rel_entr

from medn_edu.course.exercises._shared import (
    best_of_all,
    bisect,
    chain_cases,
    chain_score,
    labellings,
)
from medn_edu.course.exercises.declarations import Function, Number, differs
from medn_edu.theory.bounds import kl_inverse

_N_THROWS, _DELTA = 50, 0.05
_LETTERS, _LABELS, _C, _GAMMA = 5, 26, 20.0, 1.0


_BUDGET, _ROOT = math.log(1 / _DELTA) / _N_THROWS, 1 / _N_THROWS
check_quiet_coin = Number(
    "the bound on a coin that showed no heads in 50 throws, with probability 0.95",
    right=1 - _DELTA**_ROOT,
    praise="1 - 0.05^(1/50): any larger risk would show no heads in less than one case out of twenty.",
    mistakes={
        (_BUDGET / 2) ** 0.5: (
            "that is Pinsker's root, true but five times as large; invert kl itself."
        ),
        _BUDGET: (
            "that is the budget itself (about 3/50). Close, and a little too large: kl(0 || R) "
            "is -ln(1 - R), not R."
        ),
        _DELTA**_ROOT: "that is the probability of tails; heads has the rest.",
        1 - (1 - _DELTA) ** _ROOT: (
            "delta and 1 - delta changed places: with this risk, no "
            "heads is what happens in 95 cases out of a hundred."
        ),
        _DELTA / _N_THROWS: "delta / N is what a union bound pays, not what one coin is at most.",
        1 / _N_THROWS: "one head in 50 throws would be no surprise, and none is not either.",
    },
)

_LOGS, _RATIO2 = _LETTERS * math.log(_LABELS), (_C / _GAMMA) ** 2
check_n_draws = Number(
    "beyond how many draws the averaging term is below 1: 5 letters with 26 labels, c = 20, gamma = 1",
    right=32 * _LOGS * _RATIO2,
    praise="32 ln|Y| (c / gamma)^2. And each draw pays the divergence once more.",
    mistakes={
        32 * _LOGS * _C / _GAMMA: "c / gamma is squared: Hoeffding's exponent is.",
        16 * _LOGS * _RATIO2: (
            "16 is in the paper's choice of m, with ln|Y|^2; in the exponent stands 32."
        ),
        32 * math.log(_LABELS) * _RATIO2: (
            "|Y| counts labellings of the whole word, not labels of a letter."
        ),
        32 * _LABELS**_LETTERS * _RATIO2: (
            "the logarithm of |Y| is missing: solve |Y| e^(-m s) = 1 for m."
        ),
        32 * _LETTERS * _LABELS * _RATIO2: "26 * 5 is not the number of labellings; 26^5 is.",
        32 * _LABELS * math.log(_LETTERS) * _RATIO2: "|Y| is 26^5, not 5^26.",
        32 * _LOGS / _RATIO2: "upside down: small margins ask for more draws.",
        32 * _LOGS / math.log(10) * _RATIO2: "the logarithm is the natural one: it undoes e.",
        2 * _LOGS * _RATIO2: (
            "2 c^2 is Hoeffding's for one mean; a lead has twice the range and only "
            "gamma / 2 to lose, which makes it 32."
        ),
        _LOGS * _RATIO2: "the 32 is missing.",
    },
)


def _averaging(m: int, gamma: float, c: float, log_labellings: float) -> float:
    return math.exp(log_labellings - m * gamma**2 / (32 * c**2))


check_averaging = Function(
    "averaging(m, gamma, c, log_labellings), the second term of Theorem 8",
    cases=[(100, 1.0, 2.0, 3.0), (7, 0.5, 1.0, math.log(8)), (5000, 0.3, 4.0, 10.0)],
    right=_averaging,
    praise="one exponential: words of 300 letters have a term, though their |Y| is beyond all floats.",
    mistakes=[
        (
            lambda m, gamma, c, logs: math.exp(-m * gamma**2 / (32 * c**2)),
            "|Y| is missing: every rival may catch up.",
        ),
        (
            lambda m, gamma, c, logs: logs * math.exp(-m * gamma**2 / (32 * c**2)),
            "what stands before the exponential is |Y|, and you were given its logarithm.",
        ),
        (
            lambda m, gamma, c, logs: math.exp(logs - m * gamma / (32 * c)),
            "gamma and c are squared.",
        ),
        (
            lambda m, gamma, c, logs: math.exp(logs - m * gamma**2 / 32 * c**2),
            "c^2 belongs below: `/ 32 * c**2` divides by 32 and then multiplies.",
        ),
        (
            lambda m, gamma, c, logs: math.exp(logs - m * gamma**2 / (2 * c**2)),
            "2 c^2 is Hoeffding's for one mean; a lead has twice the range and gamma / 2 to lose.",
        ),
        (
            lambda m, gamma, c, logs: logs - m * gamma**2 / (32 * c**2),
            "that is the logarithm of the term.",
        ),
        (
            lambda m, gamma, c, logs: math.exp(logs - gamma**2 / (32 * c**2)),
            "m is missing: each draw makes the term smaller.",
        ),
    ],
    hidden=[
        (
            lambda m, gamma, c, logs: np.exp(logs) * np.exp(-m * gamma**2 / (32 * c**2)),
            "right, but e^978 overflows; add the exponents first and take one exponential.",
            differs(_averaging, (60_000, 1.0, 1.4, 300 * math.log(_LABELS))),
        ),
    ],
    otherwise="some results differ; with m = 0 it must be |Y|.",
)


def _margin(node: np.ndarray, edge: np.ndarray, labels: np.ndarray) -> float:
    """The truth's score less the best of all others, by trying all."""
    return _lead(node, edge, labels, lambda rival, truth: rival != truth)


def _lead(
    node: np.ndarray, edge: np.ndarray, labels: np.ndarray, is_rival: Callable[..., bool]
) -> float:
    truth = tuple(int(label) for label in labels)
    rivals = [chain_score(node, edge, y) for y in labellings(node) if is_rival(y, truth)]
    return chain_score(node, edge, truth) - max(rivals)


def _over_other_scores(node: np.ndarray, edge: np.ndarray, labels: np.ndarray) -> float:
    """The truth's score less the largest that is another number: rivals that tie are lost."""
    truth = chain_score(node, edge, labels)
    scores = [chain_score(node, edge, y) for y in labellings(node)]
    return truth - max(score for score in scores if score != truth)


def _over_second_best(node: np.ndarray, edge: np.ndarray, labels: np.ndarray) -> float:
    scores = sorted(chain_score(node, edge, y) for y in labellings(node))
    return scores[-1] - scores[-2]


def _margin_cases() -> list[tuple[Any, ...]]:
    """Chains whose true labelling is the best one, where it is not, and one where others tie with it."""
    rng, cases = np.random.default_rng(5), []
    for number, (node, edge) in enumerate(chain_cases(5)):
        labels = rng.integers(node.shape[1], size=len(node))
        if number % 2 == 0:
            labels = np.array(best_of_all(node, edge))
        cases.append((node, edge, labels))
    tied = np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 0.0]])
    return [*cases, (tied, np.diag([1.0, 1.0, 0.0]), np.array([0, 0]))]


check_margin = Function(
    "margin(node, edge, labels) of a small chain",
    cases=_margin_cases(),
    right=_margin,
    praise="positive where the truth wins, and then its rival is the *second* best labelling.",
    mistakes=[
        (
            lambda node, edge, labels: _lead(node, edge, labels, lambda rival, truth: True),
            "yours is never positive: the truth must not be its own rival.",
        ),
        (
            lambda node, edge, labels: -_margin(node, edge, labels),
            "the sign: the truth's score comes first.",
        ),
        (
            _over_other_scores,
            "a rival with the same score is a rival: compare labellings, not scores.",
        ),
        (
            _over_second_best,
            "that is how far the *best* labelling leads, right only where it is the true one.",
        ),
        (
            lambda node, edge, labels: _margin(node, 0 * edge, labels),
            "the transitions are missing: rivals are scored as words.",
        ),
        (
            lambda node, edge, labels: _lead(
                node, edge, labels, lambda y, z: all(a != b for a, b in zip(y, z, strict=True))
            ),
            "a rival may differ in one letter only; yours differ in all.",
        ),
        (
            lambda node, edge, labels: chain_score(node, edge, labels),
            "that is the score of the truth; take away the best rival's.",
        ),
    ],
)


def _kl(p: float, q: float) -> float:
    """Divergence of two numbers, which need not be probabilities: mistaken answers' are not."""
    return float(rel_entr(p, q) + rel_entr(1 - p, 1 - q))


def _without_zero(p: float, q: float) -> float:
    return p * math.log(p / q) + (1 - p) * math.log((1 - p) / (1 - q))


def _reversed(p: float, budget: float) -> float:
    """Bisect kl(q || p) instead of kl(p || q)."""
    return bisect(lambda q: _kl(q, p) <= budget, p, 1.0)


check_kl_inverse = Function(
    "inverse(share, budget): the largest R with kl(share || R) <= budget",
    cases=[(0.1, 0.02), (0.3, 0.5), (0.02, 0.001), (0.6, 0.1), (0.5, 3.0)],
    right=kl_inverse,
    praise="forty halvings give twelve digits, and there is no formula that does without.",
    mistakes=[
        (
            lambda p, budget: min(1.0, p + math.sqrt(budget / 2)),
            "that is Pinsker's root, which is at least as large; bisect kl itself.",
        ),
        (
            lambda p, budget: p + math.sqrt(budget / 2),
            "that is Pinsker's root, and it passes 1; bisect kl itself.",
        ),
        (
            lambda p, budget: 1 - float(kl_inverse(1 - p, budget)),
            "that is the *smallest* such risk; search between the share and 1.",
        ),
        (_reversed, "kl(p || q) and kl(q || p) differ; the observed share comes first."),
        (_kl, "that is kl(share || budget); wanted is the risk at which kl is the budget."),
        (
            lambda p, budget: p,
            "yours ends at the share: which half to keep is the wrong way round.",
        ),
        (lambda p, budget: 1.0, "yours ends at 1: which half to keep is the wrong way round."),
    ],
    hidden=[
        (
            lambda p, budget: bisect(lambda q: _without_zero(p, q) <= budget, p, 1.0),
            "right where errors were seen, but a share of 0 gives 0 log 0, which is 0.",
            differs(kl_inverse, (0.0, 0.1)),
        ),
    ],
    otherwise="some results differ, or have few digits: halve at least forty times.",
)
