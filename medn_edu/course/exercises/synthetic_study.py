"""Checks of the exercises of synthetic-study."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from medn_edu.course.exercises.declarations import (
    NOT_CALLABLE,
    NOTHING_RETURNED,
    Function,
    Judged,
    Number,
)

check_chance = Number(
    "how many of the 95 % intervals of 3 x 5 x 6 comparisons exclude 0 by chance alone",
    right=4.5,
    praise="five in a hundred of 90. Look for what holds in many places, not for the best of 90.",
    mistakes={
        0.05: "that is the share; of how many comparisons?",
        0.75: "that is 5 % of 15; in each of the 15 places M3N has six rivals.",
        5.25: "one model is the reference: six differences, not seven.",
        85.5: "that is how many cover 0.",
        1 - 0.95**90: "that is the probability that there is *at least one*; how many on average?",
        0.95**90: "that is the probability that there is none; how many are there on average?",
        15.75: "the pairs of all seven models are 21; here all are compared with M3N alone.",
        0.3: "that is 5 % of 6: one place. There are 3 x 5.",
        90: "that is the number of comparisons; five in a hundred of them.",
    },
)

_VARIANCE = 2 * 16 * (1 - 0.92)
check_paired_error = Number(
    "the standard error of a mean difference: deviations of 4, correlation 0.92, 10 CRFs",
    right=math.sqrt(_VARIANCE / 10),
    praise="unpaired it would be 1.79; to bring that down to 0.51 would take 125 CRFs.",
    mistakes={
        math.sqrt(_VARIANCE): (
            "that is the deviation of one difference; the mean of ten deviates less."
        ),
        math.sqrt(_VARIANCE) / 10: "divide the deviation by the *root* of the number of CRFs.",
        math.sqrt(32 / 10): "that is the unpaired one: the covariance, 0.92 * 4 * 4, is missing.",
        math.sqrt(2 * 16 * 1.92 / 10): "the covariance is subtracted, not added.",
        math.sqrt(16 * 0.08 / 10): "both models vary: 16 + 16 less twice the covariance.",
        math.sqrt((32 - 0.92 * 16) / 10): "the covariance counts *twice*.",
        _VARIANCE / 10: "that is a variance; take the root.",
        _VARIANCE: "that is the variance of one difference; divide by ten and take the root.",
        4 / math.sqrt(10): "that is the standard error of one model's mean error.",
        math.sqrt(2 * 4 * 0.08 / 10): "4 is the deviation; the variance is 16.",
    },
)


def _around(mean: float, half: float) -> tuple[float, float]:
    return mean - half, mean + half


def _paired(a: np.ndarray, b: np.ndarray, t: float) -> tuple[float, float]:
    return _around((a - b).mean(), t * (a - b).std(ddof=1) / math.sqrt(len(a)))


def _unpaired(a: np.ndarray, b: np.ndarray, t: float) -> tuple[float, float]:
    half = t * math.sqrt((a.var(ddof=1) + b.var(ddof=1)) / len(a))
    return _around((a - b).mean(), half)


def _pairs(n: int, rng: np.random.Generator) -> list[np.ndarray]:
    hard = 0.2 + 0.05 * rng.standard_normal(n)  # for both models
    return [hard + shift + 0.01 * rng.standard_normal(n) for shift in (0.03, 0.0)]


rng = np.random.default_rng(5)
check_paired_interval = Function(
    "interval(a, b, t): Student's interval of the mean difference of pairs",
    cases=[(*_pairs(n, rng), t) for n, t in ((4, 3.18), (10, 2.26), (7, 2.45))],
    right=_paired,
    praise="what is hard for both models is gone before the deviation is taken.",
    mistakes=[
        (
            _unpaired,
            "these variances were added: what is hard for both is still in. Subtract first.",
        ),
        (
            lambda a, b, t: _around((a - b).mean(), t * (a - b).std() / math.sqrt(len(a))),
            "n divides your variance; the mean is estimated, too: n - 1, in numpy `ddof=1`.",
        ),
        (
            lambda a, b, t: _around((a - b).mean(), t * (a - b).std(ddof=1)),
            "that is an interval for one difference; the mean's is narrower by the root of n.",
        ),
        (
            lambda a, b, t: _around((a - b).mean(), t * (a - b).std(ddof=1) / len(a)),
            "too narrow: the deviation of a mean falls with the *root* of n.",
        ),
        (
            lambda a, b, t: _around((a - b).mean(), (a - b).std(ddof=1) / math.sqrt(len(a))),
            "t is missing: one standard error either way covers about two thirds.",
        ),
        (
            lambda a, b, t: _paired(b, a, t),
            "the sign is turned round: asked is the error of a *minus* that of b.",
        ),
        (
            lambda a, b, t: (a - b).mean(),
            "that is the mean alone; return both ends of the interval.",
        ),
    ],
    otherwise="some results differ; try a = [1, 2], b = [0, 0] and t = 1, which give (1, 2).",
)

rng = np.random.default_rng(6)
check_honest_error = Function(
    "report(validation, test): the error to report for a model with constants",
    cases=[tuple(0.2 + 0.05 * rng.random((2, n))) for n in (5, 8, 6, 20)],
    right=lambda validation, test: test[validation.argmin()],
    praise="the test part has a say in nothing but this number.",
    mistakes=[
        (
            lambda validation, test: test.min(),
            "that chooses on the test part: the least of many errors is too good to be true.",
        ),
        (
            lambda validation, test: validation.min(),
            "the least validation error has been chosen for being small; look at the test part.",
        ),
        (
            lambda validation, test: test.argmin(),
            "that is the place of a constant, and of one chosen on the test part.",
        ),
        (
            lambda validation, test: validation.argmin(),
            "that is the place of the constant; what does it get wrong on the test part?",
        ),
        (
            lambda validation, test: validation[test.argmin()],
            "the other way round: choose on validation, report on test.",
        ),
        (
            lambda validation, test: test.mean(),
            "that averages over the constants; choose one, on the validation part.",
        ),
        (
            lambda validation, test: test[validation.argmax()],
            "that is the worst constant on the validation part.",
        ),
        (
            lambda validation, test: test[(validation + test).argmin()],
            "the test part has helped to choose; validation alone may.",
        ),
    ],
    otherwise="some results differ; try validation = [0.3, 0.2] and test = [0.1, 0.25], which "
    "give 0.25.",
)

Call = tuple[float, tuple[int, ...], tuple[int, ...]]


class _Recorder:
    """Stands for training and testing, and writes down on what."""

    def __init__(self, favourite: float, seed: int) -> None:
        self.favourite = favourite
        self.calls: list[Call] = []
        self._rng = np.random.default_rng(seed)

    def __call__(self, constant: Any, train: Any, test: Any) -> float:
        parts = [tuple(int(i) for i in np.asarray(part).ravel()) for part in (train, test)]
        self.calls.append((float(constant), parts[0], parts[1]))
        away = abs(math.log(float(constant) / self.favourite))
        return float(0.2 + 0.05 * away + 0.004 * self._rng.random())


def _judge_cross_validation(answer: Any) -> str | None:
    if not callable(answer):
        return NOT_CALLABLE
    for number, (n, n_folds) in enumerate(((10, 5), (11, 3), (7, 7))):
        constants = [16.0, 4.0, 1.0, 0.1]
        error = _Recorder(constants[number + 1], number)
        chosen = answer(n, n_folds, list(constants), error)
        complaint = _complaint(error.calls, n, n_folds, constants)
        if complaint is None:
            complaint = _wrong_choice(chosen, error.favourite, constants)
        if complaint is not None:
            return complaint
    return None


def _complaint(calls: list[Call], n: int, n_folds: int, constants: Sequence[float]) -> str | None:
    """Say what is wrong with the parts that trained and tested, if anything."""
    everyone = set(range(n))
    by_constant = {
        constant: [(set(train), set(test)) for c, train, test in calls if c == constant]
        for constant in constants
    }
    pairs = [pair for found in by_constant.values() for pair in found]
    tested = [[number for _, test in found for number in test] for found in by_constant.values()]
    rules: list[tuple[Callable[[], bool], str]] = [
        (lambda: not calls, "`error` is never called: nothing was trained."),
        (
            lambda: any(not train | test <= everyone for train, test in pairs),
            f"samples are numbered from 0 to n - 1; with n = {n} you use others.",
        ),
        (
            lambda: any(train & test for train, test in pairs),
            "samples that trained test as well: of course a model knows those.",
        ),
        (lambda: not all(by_constant.values()), "some constants are never tried."),
        (
            lambda: any(len(found) == 1 for found in by_constant.values()),
            "one part alone has tested; each part takes its turn.",
        ),
        (
            lambda: all(len(test) > len(train) for train, test in pairs),
            "the other way round: one part tests, and all others train.",
        ),
        (
            lambda: any(sorted(found) != sorted(everyone) for found in tested),
            "each sample must test exactly once per constant; count them when n is no multiple of "
            "n_folds.",
        ),
        (
            lambda: any(len(found) != n_folds for found in by_constant.values()),
            f"with n_folds = {n_folds} there must be {n_folds} calls per constant.",
        ),
        (
            lambda: any(train | test != everyone for train, test in pairs),
            "all samples that do not test must train.",
        ),
        (
            lambda: (
                len({frozenset(frozenset(test) for _, test in f) for f in by_constant.values()}) > 1
            ),
            "every constant has parts of its own; give all the same, so that they are compared in "
            "pairs.",
        ),
        (
            lambda: max(len(test) for _, test in pairs) > min(len(test) for _, test in pairs) + 1,
            "the parts should be of equal size, but for one.",
        ),
    ]
    return next((complaint for broken, complaint in rules if broken()), None)


def _wrong_choice(chosen: Any, best: float, constants: Sequence[float]) -> str | None:
    if chosen is None:
        return NOTHING_RETURNED
    value = float(chosen)
    if value == best:
        return None
    if value not in constants:
        return "return the constant itself, not its error or its place."
    return "the parts are right; but another constant has the smallest mean error."


def _parts(n: int, n_folds: int) -> list[Any]:
    return [range(n)[i::n_folds] for i in range(n_folds)]


def _chooser(
    parts: Callable[..., list[Any]] = _parts,
    *,
    train: Any = lambda everyone, part: sorted(everyone - part),
    turns: Any = lambda parts: parts,
    choose: Any = min,
) -> Callable[..., Any]:
    def answer(n: int, n_folds: int, constants: list[float], error: Any) -> Any:
        """Choose as a learner would, with a mistake or without."""
        means = {}
        for c in constants:
            turn = turns([set(part) for part in parts(n, n_folds)])
            found = [error(c, train(set(range(n)), part), sorted(part)) for part in turn]
            means[c] = np.mean(found)
        return choose(means, key=means.get)

    return answer


_choose = _chooser()
_SHUFFLE = np.random.default_rng(0)

# error(constant, train, test) trains on the samples with the numbers ``train`` and returns the error on
# those with the numbers ``test``
check_cross_validation = Judged(
    "choose(n, n_folds, constants, error): a constant by cross-validation",
    right=_choose,
    praise="every sample tested once per constant, by a model that had not seen it.",
    judge=_judge_cross_validation,
    mistakes=[
        lambda n, k, constants, error: constants[1],
        _chooser(lambda n, k: [range(i + 1, n + 1, k) for i in range(k)]),
        _chooser(train=lambda everyone, part: sorted(everyone)),
        lambda n, k, constants, error: _choose(n, k, constants[:3], error),
        _chooser(turns=lambda parts: parts[:1]),
        lambda n, k, constants, error: _choose(n, k, constants, lambda c, *ab: error(c, *ab[::-1])),
        _chooser(lambda n, k: [range(i * (n // k), (i + 1) * (n // k)) for i in range(k)]),
        _chooser(lambda n, k: [range(n)[i :: k - 1] for i in range(k - 1)]),
        _chooser(train=lambda everyone, part: sorted(everyone - part)[1:]),
        _chooser(lambda n, k: np.array_split(_SHUFFLE.permutation(n), k)),
        _chooser(lambda n, k: [*([i] for i in range(k - 1)), range(k - 1, n)]),
        _chooser(choose=max),
        lambda n, k, constants, error: _choose(n, k, constants, error) / 1000,
        lambda n, k, constants, error: _choose(n, k, constants, error) and None,
    ],
)
