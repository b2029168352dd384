r"""Errors of models in a study: curves against size, and every single repetition.

A study repeats each of its fits: on ten random CRFs, or on ten folds.  Two questions can be asked of
such a table, and they have different answers.  How large is a model's error?  Its mean over the
repetitions has the standard error :math:`s/\sqrt n`, where :math:`s` is the deviation over repetitions.
Hard repetitions are hard for every model, so :math:`s` is large.  Which of two models errs less?  Both
had the same training sets and the same test parts.  So the answer is the mean of the differences,
repetition by repetition, in which whatever is hard for both cancels:

.. math:: \operatorname{var}(a - b) = \operatorname{var}(a) + \operatorname{var}(b)
          - 2 \operatorname{cov}(a, b).

So the intervals of two errors may overlap widely although the interval of their difference is far from
zero.  `study_errors` arranges raw rows, and `browser_frame` computes errors, or differences to a
reference model, for the figure of `medn_edu.studies.browser`.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from medn_edu.intervals import half_interval
from medn_edu.studies.claims import scores
from medn_edu.studies.kit.fair import NAMES
from medn_edu.studies.kit.summary import By, groups, values, word_parts
from medn_edu.studies.stopped import MEAN

Rows = Iterable[Mapping[str, Any]]
Score = Any  # an error, or an array with the part of each word type


# -- readings -------------------------------------------------------------------------------------

FAIR = "fair protocol"
"""The reading in which every model has chosen its constants."""

_THEIRS = ("CRF", "L2-CRF", "L1-CRF", "M3N", "L1-M3N")  # who choose in the papers, too
_SIX = "papers' constants, six lam"  # of CRFs, in MEDN 7.1.1


def reading_of(name: str) -> tuple[str, str]:
    """Return the model behind a name, and its reading: `FAIR`, or where its constants come from.

    >>> reading_of("M3N 20 passes, mean slack")
    ('M3N', "papers' constants, 20 passes")
    """
    model = max((known for known in NAMES if name.startswith(known)), key=len, default=name)
    ending = name.removeprefix(model).removesuffix(MEAN).strip(" ,")
    ending = "at the optimum" if ending.startswith(("EM", "at its optimum")) else ending
    return model, f"papers' constants, {ending}" if ending else FAIR


def _rank(name: str) -> tuple[int, int, str]:
    """Put models in the order of the studies, their readings by the number of passes."""
    model, reading = reading_of(name)
    passes = re.findall(r"\d+", reading) or [0 if reading == FAIR else 10**6]
    return NAMES.index(model) if model in NAMES else len(NAMES), int(passes[0]), name


def listed(models: Sequence[str]) -> dict[str, list[str]]:
    """Return the models of each reading; in the papers' readings those that choose there, too, stay."""
    printed: dict[str, list[str]] = {}
    for name in models:
        printed.setdefault(reading_of(name)[1], []).append(name)
    fair = printed.pop(FAIR, [])
    crfs = printed.pop(_SIX, [])
    for names in printed.values():
        names.extend(crfs)  # the number of passes is not theirs
    found = {FAIR: fair}
    for reading in sorted(printed, key=lambda reading: min(_rank(n)[1:] for n in printed[reading])):
        replaced = {reading_of(name)[0] for name in printed[reading]}
        stay = [name for name in fair if name in _THEIRS and name not in replaced]
        found[reading] = sorted([*stay, *printed[reading]], key=_rank)
    return found


# -- what is shown --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Interval:
    """A mean and the interval that covers the true mean, if repetitions are independent."""

    mean: float
    low: float
    high: float
    n: int  # number of repetitions

    @property
    def half(self) -> float:
        """Half its width."""
        return (self.high - self.low) / 2

    def excludes(self, value: float) -> bool:
        """Say whether a value is outside."""
        return value < self.low or value > self.high


def mean_interval(repetitions: Iterable[Score]) -> Interval:
    r"""Return the mean of repetitions with its interval of 95 %.

    It is Student's interval, :math:`\bar v \pm t\, s / \sqrt n`.  If the scores are given per word
    type, it is that of a bootstrap over repetitions and word types.
    """
    found = np.array(list(repetitions), dtype=np.float64)
    if not len(found):
        raise ValueError("there are no values; expected at least one.")
    drawn = scores.mean_interval(found) if found.ndim == 2 else None
    if drawn is not None:
        return Interval(drawn.value, drawn.low, drawn.high, len(found))
    totals = found.reshape(len(found), -1).sum(axis=1)
    mean, half = float(totals.mean()), half_interval(totals)
    return Interval(mean, mean - half, mean + half, len(found))


@dataclass(frozen=True, eq=False)
class StudyErrors:
    """Errors of a study, for each setting, number of training samples and model those of all fits.

    A fit is named by its repetition and by its place within that.
    """

    errors: Mapping[tuple[Any, int], Mapping[str, Mapping[tuple[int, Any], Score]]]
    floors: Mapping[Any, Mapping[int, float]] = field(default_factory=dict)
    _found: dict[Any, Any] = field(default_factory=dict)

    @property
    def settings(self) -> list[Any]:
        """The settings, in order of appearance."""
        return list(dict.fromkeys(setting for setting, _ in self.errors))

    @property
    def sizes(self) -> list[int]:
        """The numbers of training samples, ascending."""
        return sorted({size for _, size in self.errors})

    @property
    def models(self) -> list[str]:
        """The models, in the order of the studies."""
        return sorted({name for found in self.errors.values() for name in found}, key=_rank)

    def of(
        self, setting: Any, size: int, model: str, reference: str | None = None
    ) -> dict[int, Score]:
        """Return a model's errors, or how much more it errs than another, by repetition.

        Differences are taken fit by fit, and then averaged.
        """
        key = (setting, size, model, reference)
        if key not in self._found:
            by_model = self.errors.get((setting, size), {})
            mine = by_model.get(model, {})
            other = mine if reference is None else by_model.get(reference, {})
            parts: dict[int, list[Score]] = {}
            for fit in sorted(mine.keys() & other.keys()):
                error = mine[fit]
                more = error if reference is None else scores.minus(error, other[fit])
                parts.setdefault(fit[0], []).append(more)
            self._found[key] = {k: sum(found) / len(found) for k, found in parts.items()}
        found: dict[int, Score] = self._found[key]
        return found

    def interval(
        self, setting: Any, size: int, model: str, reference: str | None = None
    ) -> Interval | None:
        """Return the mean of these with its interval; None if there are none."""
        key = ("interval", setting, size, model, reference)
        if key not in self._found:
            found = self.of(setting, size, model, reference)
            self._found[key] = mean_interval(found.values()) if found else None
        interval: Interval | None = self._found[key]
        return interval


def study_errors(
    rows: Rows,
    place: Callable[[Mapping[str, Any]], tuple[Any, int] | None],
    repetition: By = "fold",
) -> StudyErrors:
    """Arrange the raw rows of a study; ``place(row)`` is its setting and number of samples, if any."""
    placed = [{**row, "place": place(row)} for row in rows]
    known = [row for row in placed if row["place"] is not None and len(values([row], "error"))]
    if not known:
        raise ValueError("the table holds no errors to show; expected at least one row with one.")
    errors: dict[tuple[Any, int], dict[str, dict[tuple[int, Any], Score]]] = {}
    for where, group in groups(known, "place", order=lambda where: where).items():
        for name, fits in groups(group, "model", order=_rank).items():
            errors.setdefault(where, {})[name] = {
                (k, (str(row.get("data")), row["fold"])): _score(row)
                for k, part in groups(fits, repetition).items()
                for row in part
            }
    with_truth = [row for row in known if row.get("truth_error") is not None]
    floors = {
        setting: {
            k: float(values(part, "truth_error").mean())
            for k, part in groups(group, repetition).items()
        }
        for setting, group in groups(with_truth, lambda row: row["place"][0]).items()
    }
    return StudyErrors(errors, floors)


def _score(row: Mapping[str, Any]) -> Score:
    """Return the error of a row, by word type where it tells of these."""
    parts = word_parts(row)
    return row["error"] if parts is None else parts


@dataclass(frozen=True, eq=False)
class BrowserFrame:
    """What the browser shows at once."""

    setting: Any
    size: int  # the number of training samples looked at closely
    reference: str | None  # the model whose errors are subtracted
    curves: Mapping[str, Mapping[int, Interval]]  # for each model shown, mean and interval by size
    single: Mapping[str, Mapping[int, float]]
    floor: Interval | None = None  # error of the model that generated the data
    rows: Sequence[str] = ()  # the models that have a row at the right, shown or not
    models: Sequence[str] = ()  # that are to be shown, in any reading

    @property
    def here(self) -> dict[str, Interval]:
        """Mean and interval of each model at this size."""
        return {name: curve[self.size] for name, curve in self.curves.items() if self.size in curve}

    @property
    def n_repetitions(self) -> int:
        """The largest number of repetitions at this size."""
        return max((interval.n for interval in self.here.values()), default=0)


def browser_frame(
    study: StudyErrors,
    setting: Any,
    size: int,
    models: Sequence[str],
    reference: str | None = None,
    rows: Sequence[str] | None = None,
) -> BrowserFrame:
    """Compute what the browser shows."""
    rows = study.models if rows is None else rows
    shown = [name for name in models if name != reference and name in rows]
    curves: dict[str, dict[int, Interval]] = {}
    for name in shown:
        intervals = {n: study.interval(setting, n, name, reference) for n in study.sizes}
        curves[name] = {n: interval for n, interval in intervals.items() if interval is not None}
    floor = study.floors.get(setting)
    return BrowserFrame(
        setting=setting,
        size=size,
        reference=reference,
        curves={name: curve for name, curve in curves.items() if curve},
        single={name: totals(study.of(setting, size, name, reference)) for name in shown},
        floor=mean_interval(floor.values()) if floor and reference is None else None,
        rows=rows,
        models=models,
    )


def totals(found: Mapping[int, Score]) -> dict[int, float]:
    """Return scores as numbers."""
    return {k: scores.total(score) for k, score in found.items()}
