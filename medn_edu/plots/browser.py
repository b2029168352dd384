r"""A browser over the errors of a study: curves against size, and every single repetition.

A study repeats each of its fits: on ten random CRFs, or on ten folds.  Two questions can be asked of
such a table, and they have different answers.  How large is a model's error?  Its mean over the
repetitions has the standard error :math:`s/\sqrt n`, where :math:`s` is the deviation over
repetitions; hard repetitions are hard for every model, so :math:`s` is large.  Which of two models errs
less?  Both had the same training sets and the same test parts, hence it is the differences, repetition
by repetition, whose mean is asked for, and what is hard for both cancels:

.. math:: \operatorname{var}(a - b) = \operatorname{var}(a) + \operatorname{var}(b)
          - 2 \operatorname{cov}(a, b).

So the intervals of two errors may overlap widely where that of their difference is far from zero.
`study_errors` arranges raw rows, `browser_frame` computes what is shown, errors or differences to a
reference model, and `ResultBrowser` is the figure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patheffects import withStroke
from matplotlib.ticker import MaxNLocator

from medn_edu.intervals import student_quantile
from medn_edu.plots.style import INK, MUTED, new_figure, series_style, styled

_BAND = "#E9EEF2"
_FAINT = "#6C7884"


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


def mean_interval(values: Iterable[float], level: float = 0.95) -> Interval:
    r"""Return the mean of repetitions with Student's interval, :math:`\bar v \pm t\, s / \sqrt n`."""
    numbers = np.array(list(values), dtype=np.float64)
    n = len(numbers)
    if not n:
        raise ValueError("there are no values; expected at least one.")
    mean = float(numbers.mean())
    if n == 1:
        return Interval(mean, np.nan, np.nan, 1)
    half = float(student_quantile(n - 1, level) * numbers.std(ddof=1) / np.sqrt(n))
    return Interval(mean, mean - half, mean + half, n)


@dataclass(frozen=True, eq=False)
class StudyErrors:
    """Errors of a study, one for each setting, number of training samples, model and repetition."""

    errors: Mapping[tuple[Any, int], Mapping[str, Mapping[int, float]]]
    floors: Mapping[Any, Mapping[int, float]] = field(default_factory=dict)

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
        """The models, in order of appearance."""
        return list(dict.fromkeys(name for found in self.errors.values() for name in found))

    def of(
        self, setting: Any, size: int, model: str, reference: str | None = None
    ) -> dict[int, float]:
        """Return a model's errors, or their differences to those of another model."""
        found = self.errors.get((setting, size), {})
        mine = found.get(model, {})
        if reference is None:
            return {k: mine[k] for k in sorted(mine)}
        other = found.get(reference, {})
        return {k: mine[k] - other[k] for k in sorted(mine) if k in other}


def study_errors(
    rows: Iterable[Mapping[str, Any]],
    place: Callable[[Mapping[str, Any]], tuple[Any, int] | None],
    models: Sequence[str] = (),
    repetition: Callable[[Mapping[str, Any]], int] | None = None,
) -> StudyErrors:
    """Arrange the raw rows of a study."""
    errors: dict[tuple[Any, int], dict[str, dict[int, list[float]]]] = {}
    floors: dict[Any, dict[int, list[float]]] = {}
    for row in rows:
        where, error = place(row), row.get("error")
        if where is None or error is None or not np.isfinite(error):
            continue
        k = int(row["fold"] if repetition is None else repetition(row))
        by_model = errors.setdefault(where, {})
        by_model.setdefault(str(row["model"]), {}).setdefault(k, []).append(float(error))
        if row.get("truth_error") is not None:
            floors.setdefault(where[0], {}).setdefault(k, []).append(float(row["truth_error"]))
    if not errors:
        raise ValueError("the table holds no errors to show; expected at least one row with one.")
    rank = {name: number for number, name in enumerate(models)}
    ordered = {
        where: {name: _means(errors[where][name]) for name in sorted(errors[where], key=_by(rank))}
        for where in sorted(errors)
    }
    return StudyErrors(ordered, {setting: _means(found) for setting, found in floors.items()})


def _means(found: Mapping[int, Sequence[float]]) -> dict[int, float]:
    return {k: float(np.mean(values)) for k, values in found.items()}


def _by(rank: Mapping[str, int]) -> Callable[[str], tuple[int, str]]:
    return lambda name: (rank.get(name, len(rank)), name)


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
    scaled: Sequence[str] = ()

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
    scaled = [name for name in models if name != reference]
    shown = [name for name in scaled if name in rows]
    curves: dict[str, dict[int, Interval]] = {}
    for name in shown:
        values = {n: study.of(setting, n, name, reference).values() for n in study.sizes}
        curves[name] = {n: mean_interval(found) for n, found in values.items() if found}
    floor = study.floors.get(setting)
    return BrowserFrame(
        setting=setting,
        size=size,
        reference=reference,
        curves={name: curve for name, curve in curves.items() if curve},
        single={name: study.of(setting, size, name, reference) for name in shown},
        floor=mean_interval(floor.values()) if floor and reference is None else None,
        rows=rows,
        scaled=scaled,
    )


class ResultBrowser:
    """The figure: errors against size at the left, all repetitions at one size at the right."""

    def __init__(
        self, study: StudyErrors, unit: str, repetition: str, n_rows: int | None = None
    ) -> None:
        self._study, self._unit, self._repetition = study, unit, repetition
        self._models = study.models
        self._n_rows = n_rows or len(self._models)
        found = (by_fold for by_model in study.errors.values() for by_fold in by_model.values())
        self._repetitions = sorted(set().union(*found))
        self.figure = new_figure(8.8, 0.36 * self._n_rows + 2.1)
        left, right = self.figure.subplots(1, 2, width_ratios=[1.2, 1])
        with styled():
            self._draw_curves(left)
            self._draw_single(right)
            note = f"thick: mean with 95 % interval; thin: each of the {repetition}"
            self.figure.supxlabel(note, fontsize=9, color=MUTED)

    def show(self, frame: BrowserFrame, title: str) -> None:
        """Show a frame."""
        with styled():
            for number, name in enumerate(self._models):
                row = frame.rows.index(name) if name in frame.rows else 0  # where nothing is drawn
                self._move_curve(number, row, frame.curves.get(name, {}))
                self._move_single(number, row, name, frame)
            self._name_rows(frame)
            self._move_threads(frame)
            self._band.set_xdata([frame.size, frame.size])
            self._move_floor(frame)
            self._scale(frame)
            # at the height that matplotlib would find as well, but look for in every drawing
            self._left.set_title(title, y=1)
            n = f"{frame.n_repetitions} {self._repetition}"
            self._right.set_title(f"{frame.size} {self._unit}, {n}", x=0, y=1, ha="left")

    def _draw_curves(self, ax: Axes) -> None:
        self._left, sizes = ax, self._study.sizes
        span = max(sizes[-1] - sizes[0], 1)
        middle = (self._n_rows - 1) / 2
        self._shifts = [0.011 * span * (k - middle) for k in range(self._n_rows)]
        width = 0.013 * (self._n_rows + 1) * span
        points = 4.2 * 72 * width / (1.16 * span)
        self._band = ax.axvline(sizes[0], color=_BAND, lw=points, solid_capstyle="butt", zorder=0)
        (self._floor,) = ax.plot([], [], color=INK, lw=1.2, ls=(0, (4, 3)), zorder=1)
        self._floor_name = ax.text(
            sizes[0] - 0.07 * span, 0, "", ha="left", va="bottom", fontsize=9, zorder=5,
            path_effects=[withStroke(linewidth=3, foreground="white")],
        )  # fmt: skip
        self._lines, self._bars = [], []
        for name in self._models:
            style = series_style(name)
            (line,) = ax.plot([], [], **{**style, "linewidth": 1.5, "markersize": 5.5})
            self._lines.append(line)
            self._bars.append(ax.vlines([], 0, 0, colors=style["color"], lw=1.8))
        ax.set_xlim(sizes[0] - 0.08 * span, sizes[-1] + 0.08 * span)
        ax.set_xticks(sizes, [f"{size:,}" for size in sizes])
        ax.set_xlabel(f"training {self._unit}")
        ax.yaxis.set_major_locator(MaxNLocator(7, steps=[1, 2, 5, 10]))
        ax.yaxis.set_label_coords(-0.125, 0.5)  # room for ticks that need more of it later
        ax.grid(axis="y")

    def _draw_single(self, ax: Axes) -> None:
        self._right = ax
        self._threads = ax.plot([], [], color=_FAINT, lw=0.8, zorder=1)[0]
        self._dots, self._means, self._ranges = [], [], []
        for name in self._models:
            style = {**series_style(name), "linestyle": "none"}
            (dots,) = ax.plot([], [], **{**style, "markersize": 4}, alpha=0.55, zorder=2)
            hollow = style.keys() & {"markerfacecolor", "markerfacecoloralt"}
            edge = style["color"] if hollow else "white"
            (mean,) = ax.plot([], [], **{**style, "markersize": 9}, mec=edge, zorder=4)
            self._dots.append(dots)
            self._means.append(mean)
            self._ranges.append(ax.hlines([], 0, 0, colors=style["color"], lw=3.2, zorder=3))
        self._floor_right = ax.axvline(0, color=INK, lw=1.2, ls=(0, (4, 3)), zorder=1)
        ax.set(ylim=(self._n_rows - 0.4, -0.6))
        ax.tick_params(axis="y", length=0)
        ax.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
        ax.spines["left"].set_visible(False)
        ax.grid(axis="x")

    def _move_curve(self, number: int, row: int, curve: Mapping[int, Interval]) -> None:
        sizes = np.array(list(curve), dtype=float) + self._shifts[row]
        means = np.array([100 * interval.mean for interval in curve.values()])
        ends = np.array([[100 * i.low, 100 * i.high] for i in curve.values()]).reshape(-1, 2)
        self._lines[number].set_data(sizes, means)
        self._bars[number].set_segments(
            [np.column_stack([[x, x], pair]) for x, pair in zip(sizes, ends, strict=True)]
        )

    def _move_single(self, number: int, row: int, name: str, frame: BrowserFrame) -> None:
        values = frame.single.get(name, {})
        heights = self._heights(row, values)
        self._dots[number].set_data([100 * v for v in values.values()], heights)
        here = frame.here.get(name)
        shown = [] if here is None else [here]
        self._means[number].set_data([100 * i.mean for i in shown], [row] * len(shown))
        self._ranges[number].set_segments(
            [np.array([[100 * i.low, row], [100 * i.high, row]]) for i in shown]
        )

    def _name_rows(self, frame: BrowserFrame) -> None:
        """Name the rows; models that are not shown are pale."""
        reference = frame.reference
        names = [_folded(n) + ("\n(reference)" if n == reference else "") for n in frame.rows]
        self._right.set_yticks(range(len(names)), names)
        for name, label in zip(frame.rows, self._right.get_yticklabels(), strict=True):
            label.set_color(INK if name in frame.here or name == reference else _FAINT)

    def _heights(self, row: int, repetitions: Iterable[int]) -> list[float]:
        """Return where the dots of a model stand: each repetition at a height of its own."""
        step = 0.5 / max(len(self._repetitions) - 1, 1)
        return [row - 0.25 + step * self._repetitions.index(k) for k in repetitions]

    def _move_threads(self, frame: BrowserFrame) -> None:
        """Join the dots of each repetition, model by model."""
        x: list[float] = []
        y: list[float] = []
        repetitions = sorted({k for values in frame.single.values() for k in values})
        for repetition in repetitions:
            for row, name in enumerate(frame.rows):
                if repetition in frame.single.get(name, {}):
                    x.append(100 * frame.single[name][repetition])
                    y += self._heights(row, [repetition])
            x.append(np.nan)
            y.append(np.nan)
        self._threads.set_data(x, y)

    def _move_floor(self, frame: BrowserFrame) -> None:
        """Draw the error of the generating model, or no difference at all."""
        known = frame.floor is not None or frame.reference is not None
        level = 100 * frame.floor.mean if frame.floor is not None else 0.0
        ends = self._left.get_xlim()
        self._floor.set_data(ends if known else [], [level, level] if known else [])
        self._floor_right.set(xdata=[level, level], visible=known)
        text = f"no difference to {frame.reference}" if frame.reference else "generating model"
        self._floor_name.set(text=text, y=level, visible=known)

    def _scale(self, frame: BrowserFrame) -> None:
        """Choose the ends of both axes: the same for all settings, so that moves can be compared."""
        reference, study = frame.reference, self._study
        label = "test error (% of labels)"
        self._left.set_ylabel(f"error minus that of {reference} (points)" if reference else label)
        self._right.set_xlabel("difference (points)" if reference else label)
        values = {
            (setting, size, name): list(study.of(setting, size, name, reference).values())
            for setting, size in study.errors
            for name in frame.scaled
        }
        always = [0.0] if reference else [_mean(floor) for floor in study.floors.values()]
        means = [mean_interval(found) for found in values.values() if found]
        ends = [end for i in means for end in (i.low, i.mean, i.high) if np.isfinite(end)]
        single = [v for (_, size, _), found in values.items() if size == frame.size for v in found]
        self._left.set_ylim(_ends([*ends, *always]))
        self._right.set_xlim(_ends([*single, *always]))


def _mean(errors: Mapping[int, float]) -> float:
    return float(np.mean(list(errors.values())))


def _ends(values: Sequence[float]) -> tuple[float, float]:
    """Return the ends of an axis in per cent, with some room around the values."""
    if not values:
        return 0.0, 100.0
    low, high = 100 * min(values), 100 * max(values)
    room = 0.06 * max(high - low, 0.2)
    return low - room, high + room


def _folded(name: str) -> str:
    """Break a long name into two lines, short enough for the room between the panels."""
    return name.replace(" at its ", " at ").replace(" ", "\n", 1)
