"""A browser over the errors of a study: a figure of `medn_edu.studies.kit.model_errors`.

`ResultBrowser` is the figure.  `synthetic_results` and `ocr_results` are the explorers of these studies,
with lessons of their own; `study_picture` draws the figure of any study.
"""

import itertools
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patheffects import withStroke
from matplotlib.ticker import MaxNLocator

from medn_edu.explorers.kit.controls import Check, Choice
from medn_edu.explorers.kit.explorer import Exhibit, Explorer, Lesson
from medn_edu.explorers.kit.picture import SavedPicture
from medn_edu.explorers.kit.style import INK, MUTED, new_figure, series_style, styled
from medn_edu.studies.kit.model_errors import (
    FAIR,
    BrowserFrame,
    Interval,
    Rows,
    StudyErrors,
    browser_frame,
    listed,
    mean_interval,
    reading_of,
    study_errors,
    totals,
)
from medn_edu.studies.kit.stored import stored_rows
from medn_edu.studies.kit.summary import groups, plus_minus, values
from medn_edu.studies.registry import STUDIES
from medn_edu.studies.stopped import MEAN

_BAND = "#E9EEF2"
_FAINT = "#6C7884"
_MEAN, _BAR = 0.16, 0.4  # of a row: how far the mean is below the middle, and its interval


# -- the figure -----------------------------------------------------------------------------------


class ResultBrowser:
    """The figure: errors against size at the left, all repetitions at one size at the right."""

    def __init__(self, study: StudyErrors, unit: str, repetition: str) -> None:
        self._study, self._unit, self._repetition = study, unit, repetition
        self._models = study.models
        fits = [fits for by_model in study.errors.values() for fits in by_model.values()]
        self._repetitions = sorted({repetition for found in fits for repetition, _ in found})
        self.figure = new_figure(8.8, 4.7)  # with its controls on one screen, all models shown
        left, right = self.figure.subplots(1, 2, width_ratios=[1.2, 1])
        with styled():
            self._draw_curves(left)
            self._draw_single(right)
            note = f"thick: mean with 95 % interval; thin: each of the {repetition}"
            self.figure.supxlabel(note, fontsize=9, color=MUTED)

    def show(self, frame: BrowserFrame, title: str) -> None:
        """Show a frame."""
        with styled():
            n_rows = max(len(frame.rows), 1)
            self._band.set_linewidth(self._points * (n_rows + 1))
            self._right.set_ylim(n_rows - 0.4, -0.6)
            for number, name in enumerate(self._models):
                row = frame.rows.index(name) if name in frame.rows else 0  # where nothing is drawn
                self._move_curve(number, row - (n_rows - 1) / 2, frame.curves.get(name, {}))
                self._move_single(number, row, name, frame)
            self._name_rows(frame)
            self._move_threads(frame)
            self._band.set_xdata([frame.size, frame.size])
            self._move_floor(frame)
            self._scale(frame)
            # at the height that matplotlib would find as well, but look for in every drawing
            self._left.set_title(title, y=1)
            n = f"{frame.n_repetitions} {self._repetition}"
            self._right.set_title(f"{frame.size} {self._unit}\n{n}", x=0, y=1, ha="left")

    def _draw_curves(self, ax: Axes) -> None:
        self._left, sizes = ax, self._study.sizes
        span = max(sizes[-1] - sizes[0], 1)
        self._step = 0.011 * span  # from one model to the next
        self._points = 4.2 * 72 * 0.013 / 1.16
        self._band = ax.axvline(sizes[0], color=_BAND, solid_capstyle="butt", zorder=0)
        (self._floor,) = ax.plot([], [], color=INK, lw=1.2, ls=(0, (4, 3)), zorder=1)
        self._floor_name = ax.text(
            sizes[0] - 0.07 * span, 0, "", ha="left", va="bottom", fontsize=9, zorder=5,
            path_effects=[withStroke(linewidth=3, foreground="white")],
        )  # fmt: skip
        self._lines, self._bars = [], []
        for name in self._models:
            style = _style(name)
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
            style = {**_style(name), "linestyle": "none"}
            (dots,) = ax.plot([], [], **{**style, "markersize": 4}, alpha=0.55, zorder=2)
            hollow = style.keys() & {"markerfacecolor", "markerfacecoloralt"}
            edge = style["color"] if hollow else "white"
            (mean,) = ax.plot([], [], **{**style, "markersize": 9}, mec=edge, zorder=4)
            mean.set_path_effects([withStroke(linewidth=2.5, foreground="white")])
            self._dots.append(dots)
            self._means.append(mean)
            bar = ax.hlines([], 0, 0, colors=style["color"], lw=2.6, zorder=5)
            bar.set_path_effects([withStroke(linewidth=4.6, foreground="white")])
            self._ranges.append(bar)
        self._floor_right = ax.axvline(0, color=INK, lw=1.2, ls=(0, (4, 3)), zorder=1)
        ax.tick_params(axis="y", length=0)
        ax.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
        ax.spines["left"].set_visible(False)
        ax.grid(axis="x")

    def _move_curve(self, number: int, place: float, curve: Mapping[int, Interval]) -> None:
        sizes = np.array(list(curve), dtype=float) + self._step * place
        means = np.array([100 * interval.mean for interval in curve.values()])
        ends = np.array([[100 * i.low, 100 * i.high] for i in curve.values()]).reshape(-1, 2)
        self._lines[number].set_data(sizes, means)
        self._bars[number].set_segments(
            [np.column_stack([[x, x], pair]) for x, pair in zip(sizes, ends, strict=True)]
        )

    def _move_single(self, number: int, row: int, name: str, frame: BrowserFrame) -> None:
        single = frame.single.get(name, {})
        heights = self._heights(row, single)
        self._dots[number].set_data([100 * error for error in single.values()], heights)
        here = frame.here.get(name)
        shown = [] if here is None else [here]
        self._means[number].set_data([100 * i.mean for i in shown], [row + _MEAN] * len(shown))
        # below the mark, which would cover a narrow one
        self._ranges[number].set_segments(
            [np.array([[100 * end, row + _BAR] for end in (i.low, i.high)]) for i in shown]
        )

    def _name_rows(self, frame: BrowserFrame) -> None:
        """Name the rows; models that are not shown are pale."""
        reference = frame.reference
        # a long name has two lines, short enough for the room between the panels
        folded = [_folded(name) for name in frame.rows]
        marks = ["\n(reference)" if name == reference else "" for name in frame.rows]
        names = [name + mark for name, mark in zip(folded, marks, strict=True)]
        self._right.set_yticks(range(len(names)), names)
        shown = {*frame.here, *({reference} & {*frame.models})}
        for name, label in zip(frame.rows, self._right.get_yticklabels(), strict=True):
            label.set_color(INK if name in shown else _FAINT)

    def _heights(self, row: int, repetitions: Iterable[int]) -> list[float]:
        """Return where the dots of a model stand: each repetition at a height of its own."""
        step = 0.36 / max(len(self._repetitions) - 1, 1)
        return [row - 0.42 + step * self._repetitions.index(k) for k in repetitions]

    def _move_threads(self, frame: BrowserFrame) -> None:
        """Join the dots of each repetition, model by model."""
        points: list[tuple[float, float]] = []
        for repetition in sorted({k for found in frame.single.values() for k in found}):
            for row, name in enumerate(frame.rows):
                if repetition in frame.single.get(name, {}):
                    [height] = self._heights(row, [repetition])
                    points.append((100 * frame.single[name][repetition], height))
            points.append((np.nan, np.nan))
        self._threads.set_data(*zip(*points, strict=True) if points else ([], []))

    def _move_floor(self, frame: BrowserFrame) -> None:
        """Draw the error of the generating model, or no difference at all."""
        known = frame.floor is not None or frame.reference is not None
        level = 100 * frame.floor.mean if frame.floor is not None else 0.0
        ends = self._left.get_xlim()
        self._floor.set_data(ends if known else [], [level, level] if known else [])
        self._floor_right.set(xdata=[level, level], visible=known)
        self._floor_name.set(text="generating model", y=level, visible=frame.floor is not None)

    def _scale(self, frame: BrowserFrame) -> None:
        """Choose the ends of both axes: the same for all settings, so that moves can be compared."""
        reference, study = frame.reference, self._study
        label = "test error (% of labels)"
        self._left.set_ylabel(f"error minus that of {reference} (points)" if reference else label)
        self._right.set_xlabel("difference (points)" if reference else label)
        always = [0.0] if reference else [np.mean(list(f.values())) for f in study.floors.values()]
        shown = [(*where, name) for where in study.errors for name in frame.models]
        means = [mean for key in shown if (mean := study.interval(*key, reference)) is not None]
        ends = [end for i in means for end in (i.low, i.mean, i.high) if np.isfinite(end)]
        here = [key for key in shown if key[1] == frame.size]
        single = [v for key in here for v in totals(study.of(*key, reference)).values()]
        bars = [i for key in here if (i := study.interval(*key, reference)) is not None]
        single += [end for i in bars for end in (i.low, i.high) if np.isfinite(end)]
        self._left.set_ylim(_ends([*ends, *always]))
        self._right.set_xlim(_ends([*single, *always]))


def _named(name: str) -> str:
    """Return a name as it is shown."""
    return name.replace("six lam", "six λ")


def _style(name: str) -> dict[str, Any]:
    """Return a model's style; that of the mean slack differs from that of the sum."""
    mean = {"linestyle": "--", "marker": "*"} if name.endswith(MEAN) else {}
    return {**series_style(name), **mean}


def _folded(name: str) -> str:
    """Write a name in two lines; the row of the mean slack stands below that of the sum."""
    if name.endswith(MEAN):
        return f"{reading_of(name)[0]}\nmean slack"
    if ", " in name:
        model, ending = _named(name).split(", ", 1)
        return f"LapMEDN\nvar., {ending}" if " variational" in model else f"{model}\n{ending}"
    return name.replace(" at its ", " at ").replace(" ", "\n", 1)


def _ends(found: Sequence[float]) -> tuple[float, float]:
    """Return the ends of an axis in per cent, with some room around what is shown."""
    if not found:
        return 0.0, 100.0
    low, high = 100 * min(found), 100 * max(found)
    room = 0.06 * max(high - low, 0.2)
    return low - room, high + room


# -- an explorer of any table ---------------------------------------------------------------------


_NONE = "nothing"


class _Browser:
    """Joins table, figure and controls.

    ``setting`` names the control of settings, if there is one; ``title`` says a setting in words.
    """

    def __init__(
        self, study: StudyErrors, setting: str, title: str, unit: str, repetition: str
    ) -> None:
        self.study = study
        self.setting, self.title = setting, title
        self.unit, self.repetition = unit, repetition
        self.listed = listed(study.models)
        # all readings of a model share a box
        self.labels = {_identifier(base): base for base, _ in map(reading_of, study.models)}
        self.drawn = ResultBrowser(study, unit, repetition)

    def explorer(
        self, name: str, lessons: Sequence[Lesson], opening: Sequence[str], caption: str
    ) -> Explorer:
        """Return the explorer, with lessons of its own and those that any table may teach.

        It opens with few models, less the errors of the first of them; boxes add the others.
        """
        study, controls = self.study, dict[str, Any]()
        known = opening[0] in self.listed[FAIR]
        if self.setting:
            controls[self.setting] = Choice(study.settings, label=f"{self.setting} features")
        controls["reading"] = Choice(list(self.listed), label="reading")
        controls["n_train"] = Choice(study.sizes, label=f"training {self.unit}")
        references = [_NONE, *self.listed[FAIR]]
        start = opening[0] if known else _NONE
        controls["reference"] = Choice(references, start, label="subtract the errors of")
        for box, model in self.labels.items():
            controls[box] = Check(model in opening or not known, label=model)
        return Explorer(
            self.drawn.figure,
            self.update,
            self.alt,
            caption=caption,
            lessons=[*self._hidden_difference(), *self._more_data(), *lessons, *self._floor()],
            name=name,
            **controls,
        )

    def frame(self, **values: Any) -> BrowserFrame:
        """Compute what is shown at the values of the controls."""
        reference = None if values["reference"] == _NONE else values["reference"]
        setting = values[self.setting] if self.setting else self.study.settings[0]
        models = [n for n in self.study.models if values[_identifier(reading_of(n)[0])]]
        rows = [name for name in self.listed[values["reading"]] if name in models]
        return browser_frame(self.study, setting, values["n_train"], models, reference, rows)

    def update(self, **values: Any) -> str:
        """Show a frame and return its sentence."""
        frame = self.frame(**values)
        setting = self.title.format(frame.setting)
        self.drawn.show(frame, f"{setting}\n{values['reading']}")
        what = f"{setting}, {values['reading']}, {frame.size} training {self.unit}"
        ticked, rows = (
            {reading_of(name)[0]: 0 for name in each} for each in (frame.models, frame.rows)
        )
        gone = [name for name in ticked if name not in rows]
        lacking = f" Not in this reading: {', '.join(gone)}." if gone else ""
        if not frame.here:
            return f"{what}: nothing to show; check another model.{lacking}"
        times = f"{frame.n_repetitions} {self.repetition}"
        if frame.reference is None:
            shown = ", ".join(f"{_named(name)} {_error(i)}" for name, i in frame.here.items())
            floor = frame.floor
            known = "" if floor is None else f"; the generating model {_error(floor)}"
            return f"{what}, {times}: error with 95 % interval in % of labels: {shown}{known}.{lacking}"
        own = [f"{frame.reference} 0"] * (frame.reference in frame.models)
        less = (f"{_named(name)} {_difference(frame, name)}" for name in frame.here)
        shown = ", ".join([*own, *less])
        elsewhere = f" ({FAIR})" if frame.reference not in self.listed[values["reading"]] else ""
        return (
            f"{what}, {times}: error minus that of {frame.reference}{elsewhere}, in points with 95 % "
            f"interval: {shown}.{lacking}"
        )

    def alt(self, **values: Any) -> str:
        """Return what the figure shows, in words."""
        frame = self.frame(**values)
        what = "errors" if frame.reference is None else f"differences to {frame.reference}"
        return (
            f"Left, {what} of {len(frame.curves)} models against the number of training {self.unit}, "
            f"with 95 % intervals; right, at {frame.size}, a small mark for each of "
            f"{frame.n_repetitions} {self.repetition} and model, joined by thin lines, with mean and "
            "interval."
        )

    def lesson(
        self,
        fact: str,
        holds: Callable[..., bool],
        models: Iterable[str],
        setting: Any,
        **move: Any,
    ) -> Lesson:
        """Return a lesson on some models, next to those shown at the start, in a setting."""
        shown = {reading_of(name)[0] for name in models}
        boxes = {box: True for box, model in self.labels.items() if model in shown}
        at = {self.setting: setting} if self.setting else {}
        return Lesson({"reading": FAIR, "reference": _NONE, **at, **move, **boxes}, fact, holds)

    def surely_more(self, model: str, other: str, fact: str) -> list[Lesson]:
        """Return that a model errs more than another that chose, in the first setting, at any size."""
        study, setting = self.study, self.study.settings[0]
        if not {model, other} <= set(study.models):
            return []

        def holds(**_: Any) -> bool:
            found = [study.interval(setting, size, model, other) for size in study.sizes]
            return all(more is not None and more.low > 0 for more in found)

        move = {"n_train": study.sizes[0], "reference": other, "reading": reading_of(model)[1]}
        return [self.lesson(fact, holds, [model], setting, **move)]

    # -- lessons ------------------------------------------------------------------------------

    def _hidden_difference(self) -> list[Lesson]:
        """Return where two intervals overlap and the difference is clearest nevertheless."""
        found = [
            (abs(less.mean) / max(less.half, 1e-12), setting, size, a, b)
            for setting, size in self.study.errors
            for a, b in itertools.permutations(self.listed[FAIR], 2)
            if (less := self._hidden(setting, size, a, b)) is not None and less.mean < 0
        ]
        if not found:
            return []
        _, setting, size, a, b = max(found)

        def holds(**values: Any) -> bool:
            return self._hidden(setting, size, a, b) is not None and a in self.frame(**values).here

        fact = (
            f"{self._where(setting, size)} the interval of {a} contains the mean of {b}, and vice "
            f"versa. Even so, {a} clearly errs less, once both are compared on each of the "
            f"{self.repetition}."
        )
        return [self.lesson(fact, holds, [a, b], setting, n_train=size, reference=b)]

    def _where(self, setting: Any, size: int | None = None) -> str:
        """Begin a fact: with how many relevant features, if there is a choice, and training samples."""
        features = [self.title.format(setting)] if self.setting else []
        return "With " + " and ".join(
            [*features, *([f"{size} training {self.unit}"] if size else [])]
        )

    def _fair(self, setting: Any, size: int) -> dict[str, float]:
        """Return the mean errors of all models that chose, shown or not."""
        found = {name: self.study.interval(setting, size, name) for name in self.listed[FAIR]}
        return {name: interval.mean for name, interval in found.items() if interval is not None}

    def _hidden(self, setting: Any, size: int, a: str, b: str) -> Interval | None:
        """Return a clear difference of two models whose own intervals overlap."""
        mine, other = self.study.interval(setting, size, a), self.study.interval(setting, size, b)
        if mine is None or other is None or not _cover(mine, other) or mine.mean > other.mean:
            return None
        less = self.study.interval(setting, size, a, b)
        return less if less is not None and less.n >= 3 and less.excludes(0) else None

    def _more_data(self) -> list[Lesson]:
        sizes, setting = self.study.sizes, self.study.settings[0]
        if len(sizes) < 2:
            return []

        def holds(**_: Any) -> bool:
            few, many = (self._fair(setting, size) for size in (sizes[0], sizes[-1]))
            return all(many[name] < few[name] for name in few.keys() & many.keys())

        every = f"{self._where(setting)} every" if self.setting else "Every"
        fact = (
            f"{every} model errs less with {sizes[-1]} training {self.unit} than with {sizes[0]}, "
            "including those whose boxes aren't ticked."
        )
        return [self.lesson(fact, holds, (), setting, n_train=sizes[-1])]

    def _floor(self) -> list[Lesson]:
        if not self.study.floors:
            return []
        setting, size = self.study.settings[-1], self.study.sizes[-1]

        def holds(**_: Any) -> bool:
            floors = self.study.floors.get(setting)
            best = mean_interval(floors.values()).mean if floors else np.inf
            return best < min(self._fair(setting, size).values())

        fact = (
            f"{self._where(setting, size)} the model that generated the data errs less than every "
            "learned model, ticked or not, and its error is far below 50 %."
        )
        return [self.lesson(fact, holds, (), setting, n_train=size)]


def _cover(a: Interval, b: Interval) -> bool:
    """Say whether each of two intervals covers the other's mean."""
    return not a.excludes(b.mean) and not b.excludes(a.mean)


def _identifier(model: str) -> str:
    """Return the name of a model's check box: ``"L2-CRF"`` has ``l2_crf``."""
    return model.lower().replace("-", "_").replace(" ", "_")


def _error(interval: Interval, sign: str = "") -> str:
    half = None if np.isnan(interval.half) else interval.half
    return plus_minus(interval.mean, half, ".1f", times=100, sign=sign)


def _difference(frame: BrowserFrame, name: str) -> str:
    interval = frame.here[name]
    text = _error(interval, "+").replace("-", "−")
    below = sum(value < 0 for value in frame.single[name].values())
    return text if interval.n == 1 else f"{text} (lower on {below} of {interval.n})"


def _caption(each: str) -> str:
    return (
        "Left: each model's mean error against the amount of training data, with 95 % intervals. The "
        "rows on the right show which colour and mark belong to which model. Right: the same models "
        f"at the shaded size. There is a small mark for each {each}, and a thin line joins the marks of "
        f"the same {each}. The large mark is the mean, and the bar below it is its interval. First "
        "subtract *nothing*, then the errors of a model, and compare how long the bars are."
    )


# -- the synthetic studies ------------------------------------------------------------------------


def synthetic_results(rows: Rows | None = None, *, study: str = "synthetic-iid") -> Explorer:
    """Return an explorer of ``synthetic-iid`` (MEDN Fig. 3) or ``synthetic-correlated`` (Fig. 4).

    At the left the errors of the chosen models against the number of training sequences, or what is
    left when those of a reference model are subtracted, random CRF by random CRF; at the right every
    random CRF at one number of training sequences.  Controls are the number of ``relevant`` features
    (where they are independent), the ``reading``, ``n_train``, the ``reference``, and a check box for
    every model, such as ``l2_crf``.  Rows are those stored at paper scale unless given.
    """
    browsers = {"synthetic-iid": _iid_explorer, "synthetic-correlated": _grouped_explorer}
    if study not in browsers:
        raise ValueError(f"study is {study!r}; expected one of {', '.join(browsers)}.")
    return browsers[study](list(stored_rows(study) if rows is None else rows))


def _iid_explorer(rows: Sequence[Mapping[str, Any]]) -> Explorer:
    study = study_errors(rows, _iid_place)
    browser = _Browser(study, "relevant", "{} relevant features", "sequences", "random CRFs")
    frozen = (
        "C = 1 freezes the shape of LapMEDN's regulariser. With 10 relevant features its error is "
        "then higher than with a chosen shape, whatever the number of training sequences."
    )
    one_price = browser.surely_more("LapMEDN, C = 1", "LapMEDN", frozen)
    lessons = [*_sparsity_pays(browser), *one_price]
    opening = ("M3N", "L1-CRF", "L1-M3N", "LapMEDN")
    return browser.explorer("synthetic-results", lessons, opening, _caption("random CRF"))


def _iid_place(row: Mapping[str, Any]) -> tuple[int, int] | None:
    """Read ``iid-R-N``: relevant features and training sequences."""
    parts = str(row["data"]).split("-")
    return (int(parts[1]), int(parts[2])) if parts[0] == "iid" and len(parts) == 3 else None


def _grouped_study(rows: Iterable[Mapping[str, Any]]) -> StudyErrors:
    """Read ``correlated-K-D``: data set D in K parts, each of which trains in turn.

    Of the papers' readings only some parts train, and other models are compared with them on these.
    """
    part = [
        row for row in rows if str(row["data"]).startswith("correlated-") and int(row["fold"]) >= 0
    ]
    by_parts = groups(part, lambda row: _numbers(row)[0])
    sizes = {n: round(float(values(group, "n_train").mean())) for n, group in by_parts.items()}
    return study_errors(
        part, lambda row: ("groups of three", sizes[_numbers(row)[0]]), lambda row: _numbers(row)[1]
    )


def _grouped_explorer(rows: Sequence[Mapping[str, Any]]) -> Explorer:
    study = _grouped_study(rows)
    browser = _Browser(study, "", "Relevant features in {}", "sequences", "random CRFs")
    copies = (
        "An L1 penalty also pays where features come in copies: the L1-CRF's error is below "
        "the L2-CRF's, whatever the number of training sequences."
    )
    lessons = browser.surely_more("L2-CRF", "L1-CRF", copies)
    opening = ("L2-CRF", "CRF", "L1-CRF", "M3N")
    caption = _caption("random CRF")
    return browser.explorer("synthetic-correlated-results", lessons, opening, caption)


def _numbers(row: Mapping[str, Any]) -> tuple[int, int]:
    _, n_parts, number = str(row["data"]).split("-")
    return int(n_parts), int(number)


def _sparsity_pays(browser: _Browser) -> list[Lesson]:
    """Return what the L1 penalty is worth where few features matter, and where many do."""
    study = browser.study
    few, many = study.settings[0], study.settings[-1]
    if few == many or not {"L1-CRF", "L2-CRF"} <= set(study.models):
        return []

    def holds(*, n_train: int, **_: Any) -> bool:
        gain, other = (study.interval(at, n_train, "L1-CRF", "L2-CRF") for at in (few, many))
        return gain is not None and other is not None and gain.high < min(0.0, other.mean)

    size = study.sizes[0]
    fact = (
        f"With {size} training sequences the L1 penalty pays where few features matter ({few}), and "
        f"less where many do ({many})."
    )
    return [browser.lesson(fact, holds, ["L1-CRF"], few, n_train=size, reference="L2-CRF")]


# -- the study of OCR letters ---------------------------------------------------------------------


def ocr_results(rows: Rows | None = None) -> Explorer:
    """Return an explorer of the study ``ocr`` (MEDN Fig. 7).

    At the left the errors of the chosen models against the number of training words, or what is left
    when those of a reference model are subtracted, fold by fold; at the right every fold at one
    number of words.  Controls are the ``reading``, ``n_train``, the ``reference``, and a check box for
    every model, such as ``l2_crf``.  Rows are those stored at paper scale unless given.

    Under the fair protocol every model has chosen its constants.  In the other readings M3N, L1-M3N and
    LapMEDN have the papers' constants, and descent is stopped after some passes or goes on to the
    optimum.  Penalised CRFs choose among the six ``lam`` of MEDN 7.1.1 if the table has such.  What is
    subtracted is always an error under the fair protocol, that of ``M3N`` from ``M3N 20 passes``, say.
    """
    study = study_errors(stored_rows("ocr") if rows is None else rows, _ocr_place)
    browser = _Browser(study, "", "OCR letters", "words", "folds")
    penalty = (
        "Without a penalty the CRF's error is above the L2-CRF's, with any number of training "
        "words."
    )
    constant = (
        "Trained to its optimum, M3N has a higher error with the papers' constant than with a chosen "
        "one, with any number of training words."
    )
    lessons = [
        *browser.surely_more("CRF", "L2-CRF", penalty),
        *browser.surely_more("M3N at its optimum", "M3N", constant),
    ]
    opening = ("M3N", "L2-CRF", "L1-CRF", "LapMEDN")
    return browser.explorer("ocr-results", lessons, opening, _caption("fold"))


def _ocr_place(row: Mapping[str, Any]) -> tuple[str, int] | None:
    """Read ``ocr-N``: training words; all other data have one size only."""
    size = str(row["data"]).removeprefix("ocr-")
    return ("all", int(size)) if size.isdigit() else None


# -- the figure of any study ----------------------------------------------------------------------


def study_picture(study: str, alt: str, figure: str = "", *, caption: str = "") -> SavedPicture:
    """Draw a figure of a study from its stored table: its main one, or a further one by name.

    ``alt`` says what it shows, for those who cannot see it; ``caption``, what to notice.
    """
    if study not in STUDIES:
        raise ValueError(f"study is {study!r}; expected one of {', '.join(STUDIES)}.")
    drawings = {"": STUDIES[study].draw, **STUDIES[study].more_figures}
    if figure not in drawings:
        raise ValueError(f"{study} has no figure {figure!r}; it has {', '.join(drawings)[2:]}.")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "figure.png"
        drawings[figure](stored_rows(study), path)
        return SavedPicture(path.read_bytes(), alt, caption)


SYNTHETIC_RESULTS = Exhibit(
    "Who finds the few features that matter", "synthetic-study", synthetic_results
)


OCR_RESULTS = Exhibit("Who reads handwriting best", "ocr-study", ocr_results)
