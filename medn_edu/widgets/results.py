"""The errors of the studies, to be looked through: models, sizes, settings, differences."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from medn_edu.experiments.stored import stored_rows
from medn_edu.experiments.studies import STUDIES
from medn_edu.plots.browser import (
    BrowserFrame,
    Interval,
    ResultBrowser,
    StudyErrors,
    browser_frame,
    mean_interval,
    study_errors,
)
from medn_edu.widgets.controls import Check, Choice, Control
from medn_edu.widgets.explorer import Explorer, Lesson
from medn_edu.widgets.picture import SavedPicture

__all__ = ["ocr_results", "study_picture", "synthetic_results"]

Rows = Iterable[Mapping[str, Any]]

_ORDER = (
    "CRF", "L2-CRF", "L1-CRF", "M3N", "L1-M3N", "LapMEDN variational", "LapMEDN", "epsilon-M3N",
)  # fmt: skip
_NONE = "nothing"
_TITLES = {
    "chosen": "OCR letters, constants chosen",
    "papers": "OCR letters, constants of the papers",
}


def synthetic_results(rows: Rows | None = None) -> Explorer:
    """Return an explorer of the study ``synthetic-iid`` (MEDN Fig. 3).

    At the left the errors of the chosen models against the number of training sequences, or what is
    left when those of a reference model are subtracted, random CRF by random CRF; at the right every
    random CRF at one number of training sequences.  Drawn by `medn_edu.plots.browser`.

    Parameters
    ----------
    rows : iterable of mappings, optional
        Rows of the study; those stored at paper scale unless given.

    Returns
    -------
    Explorer
        The explorer: ``relevant`` features, ``n_train``, the ``reference``, and a check box for every
        model, such as ``l2_crf``.

    Raises
    ------
    FileNotFoundError
        If no table is stored.
    ValueError
        If the table holds no errors of this study.
    """
    table = list(stored_rows("synthetic-iid") if rows is None else rows)
    study = study_errors(table, _iid_place, _ORDER)
    return _Browser(study, "relevant", "relevant features", "sequences", "random CRFs").explorer(
        "synthetic-results", _sparsity_pays(study)
    )


def ocr_results(rows: Rows | None = None, *, constants: str = "chosen") -> Explorer:
    """Return an explorer of the study ``ocr`` (MEDN Fig. 7).

    At the left the errors of the chosen models against the number of training words, or what is left
    when those of a reference model are subtracted, fold by fold; at the right every fold at one
    number of words.  Drawn by `medn_edu.plots.browser`.

    Parameters
    ----------
    rows : iterable of mappings, optional
        Rows of the study; those stored at paper scale unless given.
    constants : {"chosen", "papers"}, default="chosen"
        Whether to show the models whose constants were chosen on words outside, or those with the
        constants of the papers.  The CRF without a penalty has none and is in both.

    Returns
    -------
    Explorer
        The explorer: ``n_train``, the ``reference``, and a check box for every model, such as
        ``l2_crf``.

    Raises
    ------
    FileNotFoundError
        If no table is stored.
    ValueError
        If the table holds no errors of this study, or ``constants`` is something else.
    """
    if constants not in _TITLES:
        raise ValueError(f"constants is {constants!r}; expected one of {', '.join(_TITLES)}.")
    table = stored_rows("ocr") if rows is None else rows
    wanted = [
        row
        for row in table
        if row["model"] == "CRF" or (row["model"] in _ORDER) == (constants == "chosen")
    ]
    study = study_errors(wanted, lambda row: _ocr_place(row, _TITLES[constants]), _ORDER)
    return _Browser(study, "", "", "words", "folds").explorer("ocr-results", _penalty_pays(study))


def study_picture(study: str, alt: str, figure: str = "") -> SavedPicture:
    """Draw a figure of a study from its stored table.

    Parameters
    ----------
    study : str
        Name of the study.
    alt : str
        What the figure shows, for those who cannot see it.
    figure : str, optional
        Which of the study's further figures; its main one unless given.

    Returns
    -------
    SavedPicture
        The figure.

    Raises
    ------
    FileNotFoundError
        If no table is stored.
    ValueError
        If there is no such study or figure.
    """
    if study not in STUDIES:
        raise ValueError(f"study is {study!r}; expected one of {', '.join(STUDIES)}.")
    drawings = {"": STUDIES[study].draw, **STUDIES[study].more_figures}
    if figure not in drawings:
        raise ValueError(f"{study} has no figure {figure!r}; it has {', '.join(drawings)[2:]}.")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "figure.png"
        drawings[figure](stored_rows(study), path)
        return SavedPicture(path.read_bytes(), alt)


def _iid_place(row: Mapping[str, Any]) -> tuple[int, int] | None:
    """Read ``iid-R-N``: relevant features and training sequences."""
    parts = str(row["data"]).split("-")
    return (int(parts[1]), int(parts[2])) if parts[0] == "iid" and len(parts) == 3 else None


def _ocr_place(row: Mapping[str, Any], title: str) -> tuple[str, int] | None:
    """Read ``ocr-N``: training words; all other data have one size only."""
    size = str(row["data"]).removeprefix("ocr-")
    return (title, int(size)) if size.isdigit() else None


class _Browser:
    """Joins table, figure and controls."""

    def __init__(
        self, study: StudyErrors, setting: str, setting_name: str, unit: str, repetition: str
    ) -> None:
        self.study = study
        self.setting, self.setting_name = setting, setting_name
        self.unit, self.repetition = unit, repetition
        self.boxes = {name: _identifier(name) for name in study.models}
        self.drawn = ResultBrowser(study, unit, repetition)

    def explorer(self, name: str, lessons: Sequence[Lesson]) -> Explorer:
        """Return the explorer, with lessons of its own and those that any table may teach."""
        study, controls = self.study, dict[str, Control]()
        if self.setting:
            controls[self.setting] = Choice(study.settings, label=self.setting_name)
        controls["n_train"] = Choice(study.sizes, label=f"training {self.unit}")
        controls["reference"] = Choice([_NONE, *study.models], label="subtract the errors of")
        for model, box in self.boxes.items():
            controls[box] = Check(True, label=model)
        return Explorer(
            self.drawn.figure,
            self.update,
            self.alt,
            lessons=[*self._hidden_difference(), *self._more_data(), *lessons, *self._floor()],
            name=name,
            **controls,
        )

    def frame(self, **values: Any) -> BrowserFrame:
        """Compute what is shown at the values of the controls."""
        reference = None if values["reference"] == _NONE else values["reference"]
        setting = values[self.setting] if self.setting else self.study.settings[0]
        models = [name for name, box in self.boxes.items() if values[box]]
        return browser_frame(self.study, setting, values["n_train"], models, reference)

    def update(self, **values: Any) -> str:
        """Show a frame and return its sentence."""
        frame = self.frame(**values)
        self.drawn.show(frame, self._title(frame))
        what = f"{self._title(frame)}, {frame.size} training {self.unit}"
        if not frame.here:
            return f"{what}: nothing to show; check another model."
        times = f"{frame.n_repetitions} {self.repetition}"
        if frame.reference is None:
            shown = ", ".join(f"{name} {_error(i)}" for name, i in frame.here.items())
            floor = frame.floor
            known = "" if floor is None else f"; the generating model {_error(floor)}"
            return f"{what}, {times}: error with 95 % interval in % of labels: {shown}{known}."
        shown = ", ".join(f"{name} {_difference(frame, name)}" for name in frame.here)
        return (
            f"{what}, {times}: error minus that of {frame.reference}, in points with 95 % interval: "
            f"{shown}."
        )

    def alt(self, **values: Any) -> str:
        """Return what the figure shows, in words."""
        frame = self.frame(**values)
        what = "errors" if frame.reference is None else f"differences to {frame.reference}"
        return (
            f"Left, {what} of {len(frame.curves)} models against the number of training {self.unit}, "
            f"with 95 % intervals; right, at {frame.size}, a dot for each of {frame.n_repetitions} "
            f"{self.repetition} and model, joined by thin lines, with mean and interval."
        )

    def _title(self, frame: BrowserFrame) -> str:
        return f"{frame.setting} {self.setting_name}" if self.setting else str(frame.setting)

    def _values(self, setting: Any, size: int, models: Iterable[str], reference: str) -> dict:
        chosen = set(models)
        values = {"n_train": size, "reference": reference}
        if self.setting:
            values[self.setting] = setting
        return values | {box: name in chosen for name, box in self.boxes.items()}

    # -- lessons ------------------------------------------------------------------------------

    def _hidden_difference(self) -> list[Lesson]:
        """Return where two intervals overlap and the difference is clearest nevertheless."""
        found = [
            (abs(difference.mean) / max(difference.half, 1e-12), setting, size, a, b)
            for setting, size in self.study.errors
            for a, b in itertools.permutations(self.study.models, 2)
            if (pair := self._pair(setting, size, a, b)) is not None
            for difference in [pair[2]]
            if _cover(*pair[:2]) and difference.excludes(0) and difference.mean < 0
        ]
        if not found:
            return []
        _, setting, size, a, b = max(found)

        def holds(**values: Any) -> bool:
            pair = self._pair(setting, size, a, b)
            shown = self.frame(**values).here[a]
            return pair is not None and _cover(*pair[:2]) and shown.excludes(0)

        fact = (
            f"Each of the intervals of {a} and {b} covers the other's mean, and yet it is clear that "
            f"{a} errs less: on each of the {self.repetition} both are compared."
        )
        return [Lesson(self._values(setting, size, [a, b], b), fact, holds)]

    def _pair(
        self, setting: Any, size: int, a: str, b: str
    ) -> tuple[Interval, Interval, Interval] | None:
        """Return the intervals of two models and of their difference, if both are there."""
        of = self.study.of  # at this size only: a frame would compute the curves as well
        mine, other, differences = (
            list(errors.values())
            for errors in (of(setting, size, a), of(setting, size, b), of(setting, size, a, b))
        )
        if len(differences) < 3:
            return None
        return mean_interval(mine), mean_interval(other), mean_interval(differences)

    def _more_data(self) -> list[Lesson]:
        sizes = self.study.sizes
        if len(sizes) < 2:
            return []

        def holds(**values: Any) -> bool:
            curves = self.frame(**values).curves.values()
            return all(curve[sizes[-1]].mean < curve[sizes[0]].mean for curve in curves)

        move = self._values(self.study.settings[0], sizes[-1], self.study.models, _NONE)
        return [Lesson(move, f"More training {self.unit}, fewer errors: of every model.", holds)]

    def _floor(self) -> list[Lesson]:
        if not self.study.floors:
            return []

        def holds(**values: Any) -> bool:
            frame = self.frame(**values)
            floor = frame.floor
            return floor is not None and all(i.mean > floor.mean for i in frame.here.values())

        move = self._values(self.study.settings[-1], self.study.sizes[-1], self.study.models, _NONE)
        fact = "No model errs less than the one that generated the data, whose error is far below 50 %."
        return [Lesson(move, fact, holds)]


def _cover(a: Interval, b: Interval) -> bool:
    """Say whether each of two intervals covers the other's mean."""
    return not a.excludes(b.mean) and not b.excludes(a.mean)


def _sparsity_pays(study: StudyErrors) -> list[Lesson]:
    """Return what the L1 penalty is worth where few features matter, and where many do."""
    few, many = study.settings[0], study.settings[-1]
    if few == many or not {"L1-CRF", "L2-CRF"} <= set(study.models):
        return []

    def holds(*, n_train: int, **_: Any) -> bool:
        gain, other = (
            browser_frame(study, setting, n_train, ["L1-CRF"], "L2-CRF").here["L1-CRF"]
            for setting in (few, many)
        )
        return gain.high < min(0.0, other.mean)

    boxes = {_identifier(name): name == "L1-CRF" for name in study.models}
    move = {"relevant": few, "n_train": study.sizes[0], "reference": "L2-CRF", **boxes}
    fact = "The L1 penalty pays where few features matter, and less where many do."
    return [Lesson(move, fact, holds)]


def _penalty_pays(study: StudyErrors) -> list[Lesson]:
    """Return that the CRF without a penalty loses, on four folds of five or more."""
    if not {"CRF", "L2-CRF"} <= set(study.models):
        return []

    def holds(*, n_train: int, **_: Any) -> bool:
        losses = list(study.of(study.settings[0], n_train, "CRF", "L2-CRF").values())
        return mean_interval(losses).low > 0 and float(np.mean(np.array(losses) > 0)) >= 0.8

    boxes = {_identifier(name): name == "CRF" for name in study.models}
    move = {"n_train": study.sizes[0], "reference": "L2-CRF", **boxes}
    return [Lesson(move, "Without a penalty the CRF errs more, on nearly every fold.", holds)]


def _identifier(model: str) -> str:
    """Return the name of a model's check box: ``"L2-CRF"`` has ``l2_crf``."""
    return model.lower().replace("-", "_").replace(" ", "_")


def _error(interval: Interval) -> str:
    if np.isnan(interval.half):
        return f"{100 * interval.mean:.1f}"
    return f"{100 * interval.mean:.1f} ± {100 * interval.half:.1f}"


def _difference(frame: BrowserFrame, name: str) -> str:
    interval, values = frame.here[name], frame.single[name].values()
    text = f"{100 * interval.mean:+.1f}".replace("-", "−")
    if np.isnan(interval.half):
        return text
    below = sum(value < 0 for value in values)
    return f"{text} ± {100 * interval.half:.1f} (less on {below} of {interval.n})"
