"""Checks of the exercises of synthetic-study."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from medn_edu.course.exercises.declarations import (
    NOTHING_RETURNED,
    Choice,
    Function,
    Judged,
)

check_unfair = Choice(right="b")

# -- which models the table can't tell from the best ------------------------------------------------

_AS_GOOD = ("elastic CRF", "L1-M3N", "elastic M3N")
_WORSE = ("CRF", "L2-CRF", "M3N", "LapMEDN")


def _judge_as_good(answer: Any) -> str | None:
    if isinstance(answer, str):
        return "expected a list, in square brackets, even if it holds only one name."
    names = list(answer)
    if not all(isinstance(name, str) for name in names):
        return "expected a list of names, each in quotes."
    known = {name.lower(): name for name in (*_AS_GOOD, *_WORSE, "L1-CRF")}
    if strange := [name for name in names if name.strip().lower() not in known]:
        return f"{strange[0][:40]!r} is not in the table; write the names as they are printed."
    given = {known[name.strip().lower()] for name in names}
    if given >= {*_AS_GOOD, *_WORSE}:
        return (
            "you looked at the second column, where all intervals overlap. The third one has the "
            "intervals of the differences."
        )
    if not given - {"L1-CRF"}:
        return "as far as this table can tell, some other models are as good. Whose interval contains 0?"
    if extra := [name for name in _WORSE if name in given]:
        return f"the whole interval of {extra[0]} is above 0, so its error is higher."
    if missing := [name for name in _AS_GOOD if name not in given]:
        return (
            f"right so far, but not all: how many intervals contain 0? You have {3 - len(missing)}."
        )
    if "L1-CRF" in given:
        return "leave out the L1-CRF itself: it's the model that the others are compared with."
    return None


# the models whose error can't be told from the L1-CRF's, with 10 relevant features and 150 sequences
check_as_good = Judged(
    right=list(_AS_GOOD),
    judge=_judge_as_good,
    expected="a list of names, each in quotes",
    mistakes=[
        "elastic CRF",
        [],
        [1, 2],
        ["elastic net"],
        ["elastic CRF"],
        ["elastic CRF", "L1-M3N"],
        [*_AS_GOOD, "LapMEDN"],
        [*_AS_GOOD, "L2-CRF"],
        [*_AS_GOOD, *_WORSE],
        ["L1-CRF", *_AS_GOOD],
    ],
)

# -- errors for which pairs make things worse -------------------------------------------------------


def _judge_worse_in_pairs(answer: Any) -> str | None:
    lists = list(answer)
    if len(lists) != 2:
        return "expected two lists: the errors of one model, and those of the other."
    a, b = (np.asarray(each, dtype=np.float64) for each in lists)
    if a.ndim != 1 or b.ndim != 1:
        return "expected two plain lists of numbers, such as ([1, 2, 3, 4], [5, 6, 7, 8])."
    if len(a) != len(b):
        return f"the lists have {len(a)} and {len(b)} numbers. Each generator needs one in both."
    if len(a) < 4:
        return "use four generators or more."
    if not (
        np.isfinite([a, b]).all() and min(a.min(), b.min()) >= 0 and max(a.max(), b.max()) <= 100
    ):
        return "errors in per cent lie between 0 and 100."
    apart = a.var(ddof=1) + b.var(ddof=1)
    covariance = float(np.cov(a, b)[0, 1])
    ratio = math.sqrt(max(apart - 2 * covariance, 0.0) / apart) if apart > 0 else 1.0
    if min(np.ptp(a), np.ptp(b)) < 1e-9:
        return "one of the models has the same error with every generator, so there's nothing to share."
    if ratio >= 1.25:
        return None
    if covariance > 1e-12:
        return "these errors rise and fall together, so pairs narrow the interval. What is the opposite?"
    if abs(covariance) <= 1e-12:
        return "the covariance is 0, so both intervals are equally wide. Make it negative."
    return (
        f"the right idea, but the interval is only {ratio:.2f} times as wide. Make it 1.25 times."
    )


check_worse_in_pairs = Judged(
    right=([10, 20, 10, 20], [20, 10, 20, 10]),
    judge=_judge_worse_in_pairs,
    expected="two lists of numbers, such as ([1, 2, 3, 4], [5, 6, 7, 8])",
    mistakes=[
        ([10, 20, 10, 20],),
        ([[10, 20], [10, 20]], [[20, 10], [20, 10]]),
        ([10, 20, 10, 20], [20, 10, 20]),
        ([10, 20], [20, 10]),
        ([10, 20, 10, 120], [20, 10, 20, 10]),
        ([10, 20, 10, 20], [15, 15, 15, 15]),
        ([10, 20, 10, 20], [11, 21, 11, 21]),
        ([10, 20, 10, 20], [10, 10, 20, 20]),
        ([10, 20, 10, 20], [15, 14, 15, 14]),
    ],
)

# -- the interval of a mean difference ---------------------------------------------------------------


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
    cases=[(*_pairs(n, rng), t) for n, t in ((4, 3.18), (10, 2.26), (7, 2.45))],
    right=_paired,
    mistakes={
        "unpaired": _unpaired,
        "n_in_variance": lambda a, b, t: _around(
            (a - b).mean(), t * (a - b).std() / math.sqrt(len(a))
        ),
        "interval_of_one": lambda a, b, t: _around((a - b).mean(), t * (a - b).std(ddof=1)),
        "without_root": lambda a, b, t: _around((a - b).mean(), t * (a - b).std(ddof=1) / len(a)),
        "without_t": lambda a, b, t: _around(
            (a - b).mean(), (a - b).std(ddof=1) / math.sqrt(len(a))
        ),
        "sign": lambda a, b, t: _paired(b, a, t),
        "mean_alone": lambda a, b, t: (a - b).mean(),
    },
)

rng = np.random.default_rng(6)
check_honest_error = Function(
    cases=[tuple(0.2 + 0.05 * rng.random((2, n))) for n in (5, 8, 6, 20)],
    right=lambda validation, test: test[validation.argmin()],
    mistakes={
        "least_on_test": lambda validation, test: test.min(),
        "least_on_validation": lambda validation, test: validation.min(),
        "place_on_test": lambda validation, test: test.argmin(),
        "place_on_validation": lambda validation, test: validation.argmin(),
        "roles_swapped": lambda validation, test: validation[test.argmin()],
        "mean_over_constants": lambda validation, test: test.mean(),
        "worst_constant": lambda validation, test: test[validation.argmax()],
        "chosen_on_both": lambda validation, test: test[(validation + test).argmin()],
    },
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
    for number, (n, n_folds) in enumerate(((10, 5), (11, 3), (7, 7))):
        constants = [16.0, 4.0, 1.0, 0.1]
        error = _Recorder(constants[number + 1], number)
        chosen = answer(n, n_folds, list(constants), error)
        if chosen is None:
            return NOTHING_RETURNED
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
            f"samples are numbered from 0 to n - 1. With n = {n} you use other numbers.",
        ),
        (
            lambda: any(train & test for train, test in pairs),
            "some samples are used for training and for testing, and of course a model knows those.",
        ),
        (lambda: not all(by_constant.values()), "some constants are never tried."),
        (
            lambda: any(len(found) == 1 for found in by_constant.values()),
            "only one part is used for testing. Each part must take its turn.",
        ),
        (
            lambda: all(len(test) > len(train) for train, test in pairs),
            "it's the other way round: test on one part, and train on all others.",
        ),
        (
            lambda: any(sorted(found) != sorted(everyone) for found in tested),
            "each sample must be tested exactly once per constant. Count them when n is not a "
            "multiple of n_folds.",
        ),
        (
            lambda: any(len(found) != n_folds for found in by_constant.values()),
            f"with n_folds = {n_folds} there must be {n_folds} calls per constant.",
        ),
        (
            lambda: any(train | test != everyone for train, test in pairs),
            "train on all samples that you don't test on.",
        ),
        (
            lambda: (
                len({frozenset(frozenset(test) for _, test in f) for f in by_constant.values()}) > 1
            ),
            "each constant has its own parts. Use the same parts for all, so that constants are "
            "compared in pairs.",
        ),
        (
            lambda: max(len(test) for _, test in pairs) > min(len(test) for _, test in pairs) + 1,
            "the sizes of the parts may differ by at most one.",
        ),
    ]
    return next((complaint for broken, complaint in rules if broken()), None)


def _wrong_choice(chosen: Any, best: float, constants: Sequence[float]) -> str | None:
    value = float(chosen)
    if value == best:
        return None
    if value not in constants:
        return "return the constant itself, not its error or its position."
    return "the parts are right, but another constant has the smallest mean error."


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
    right=_choose,
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
