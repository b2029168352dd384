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

Rows = Iterable[Mapping[str, Any]]

_MODELS = (
    "CRF", "L2-CRF", "L1-CRF", "M3N", "L1-M3N", "LapMEDN variational", "LapMEDN", "epsilon-M3N",
)  # fmt: skip
# Models with the constants of the papers, and those with chosen constants whose place they take.
_PAPERS = {
    "M3N sub-gradient": "M3N",
    "M3N at its optimum": "M3N",
    "L1-M3N sub-gradient": "L1-M3N",
    "L1-M3N EM": "L1-M3N",
    "LapMEDN sub-gradient": "LapMEDN variational",
    "LapMEDN at its optimum": "LapMEDN",
}
_ORDER = tuple(
    name for model in _MODELS for name in (model, *(k for k, v in _PAPERS.items() if v == model))
)
_NONE = "nothing"
_CHOSEN, _OF_PAPERS = "chosen", "of the papers"
_LABELS = {"relevant": "relevant features", "constants": "constants"}


def synthetic_results(rows: Rows | None = None, *, study: str = "synthetic-iid") -> Explorer:
    """Return an explorer of ``synthetic-iid`` (MEDN Fig. 3) or ``synthetic-correlated`` (Fig. 4).

    At the left the errors of the chosen models against the number of training sequences, or what is
    left when those of a reference model are subtracted, random CRF by random CRF; at the right every
    random CRF at one number of training sequences.  Drawn by `medn_edu.plots.browser`.

    Parameters
    ----------
    rows : iterable of mappings, optional
        Rows of the study; those stored at paper scale unless given.
    study : {"synthetic-iid", "synthetic-correlated"}, default="synthetic-iid"
        Whether features are independent, or the relevant ones come in groups of three.  There the
        parts of a data set that train in turn are averaged, and the models *at its optimum*, which
        were trained on one part only, are left out.

    Returns
    -------
    Explorer
        The explorer: ``relevant`` features (where they are independent), ``n_train``, the
        ``reference``, and a check box for every model, such as ``l2_crf``.

    Raises
    ------
    FileNotFoundError
        If no table is stored.
    ValueError
        If the table holds no errors of this study, or there is no such study.
    """
    browsers = {"synthetic-iid": _iid_browser, "synthetic-correlated": _grouped_browser}
    if study not in browsers:
        raise ValueError(f"study is {study!r}; expected one of {', '.join(browsers)}.")
    browser, lessons = browsers[study](list(stored_rows(study) if rows is None else rows))
    return browser.explorer(f"{study.removesuffix('-iid')}-results", lessons)


def ocr_results(rows: Rows | None = None) -> Explorer:
    """Return an explorer of the study ``ocr`` (MEDN Fig. 7).

    At the left the errors of the chosen models against the number of training words, or what is left
    when those of a reference model are subtracted, fold by fold; at the right every fold at one
    number of words.  Drawn by `medn_edu.plots.browser`.

    With the constants of the papers, M3N, L1-M3N and LapMEDN are replaced by what was trained with
    these, stopped early and at the optimum.  Of the penalised CRFs the papers tell no constants, the
    CRF without a penalty has none, and epsilon-M3N is not theirs: these stay as they are.  A
    reference is named in full, so that ``M3N``, whose constant is chosen, can be subtracted from
    ``M3N at its optimum``, which has the papers'.

    Parameters
    ----------
    rows : iterable of mappings, optional
        Rows of the study; those stored at paper scale unless given.

    Returns
    -------
    Explorer
        The explorer: ``constants``, ``n_train``, the ``reference``, and a check box for every model,
        such as ``l2_crf``.

    Raises
    ------
    FileNotFoundError
        If no table is stored.
    ValueError
        If the table holds no errors of this study.
    """
    table = stored_rows("ocr") if rows is None else rows
    found = study_errors(table, _ocr_place, _ORDER)
    replaced = {_PAPERS[name] for name in found.models if name in _PAPERS}
    listed = {_CHOSEN: [name for name in found.models if name not in _PAPERS]}
    if replaced:
        listed[_OF_PAPERS] = [name for name in found.models if name not in replaced]
    # the same errors in both settings: any of them may be subtracted
    study = StudyErrors(
        {
            (setting, size): errors
            for setting in listed
            for (_, size), errors in found.errors.items()
        }
    )
    browser = _Browser(study, "constants", "OCR letters, constants {}", "words", "folds", listed)
    return browser.explorer("ocr-results", [*_penalty_pays(study), *_constants_matter(study)])


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


def _ocr_place(row: Mapping[str, Any]) -> tuple[str, int] | None:
    """Read ``ocr-N``: training words; all other data have one size only."""
    size = str(row["data"]).removeprefix("ocr-")
    return ("all", int(size)) if size.isdigit() else None


def _iid_browser(rows: Sequence[Mapping[str, Any]]) -> tuple[_Browser, list[Lesson]]:
    study = study_errors(rows, _iid_place, _ORDER)
    browser = _Browser(study, "relevant", "{} relevant features", "sequences", "random CRFs")
    return browser, _sparsity_pays(study)


def _grouped_browser(rows: Sequence[Mapping[str, Any]]) -> tuple[_Browser, list[Lesson]]:
    """Read ``correlated-K-D``: data set D in K parts, each of which trains in turn."""
    parts: dict[int, list[int]] = {}
    part = [row for row in rows if _trained_in_turn(row)]
    for row in part:
        parts.setdefault(_numbers(row)[0], []).append(int(row["n_train"]))
    sizes = {n_parts: round(float(np.mean(found))) for n_parts, found in parts.items()}
    study = study_errors(
        part,
        lambda row: ("Relevant features in groups of three", sizes[_numbers(row)[0]]),
        _ORDER,
        lambda row: _numbers(row)[1],
    )
    return _Browser(study, "", "{}", "sequences", "random CRFs"), _copies_spare_sparsity(study)


def _trained_in_turn(row: Mapping[str, Any]) -> bool:
    """Say whether a row is of features in groups, and not of a choice or of one part only."""
    name = str(row["model"])
    of_study = str(row["data"]).startswith("correlated-") and int(row["fold"]) >= 0
    return of_study and not name.endswith("at its optimum")


def _numbers(row: Mapping[str, Any]) -> tuple[int, int]:
    _, n_parts, number = str(row["data"]).split("-")
    return int(n_parts), int(number)


class _Browser:
    """Joins table, figure and controls.

    ``setting`` names the control of settings, if there is one; ``title`` says a setting in words;
    ``listed`` holds the models that belong to each, all of them unless given.
    """

    def __init__(
        self,
        study: StudyErrors,
        setting: str,
        title: str,
        unit: str,
        repetition: str,
        listed: Mapping[Any, Sequence[str]] | None = None,
    ) -> None:
        self.study = study
        self.setting, self.title = setting, title
        self.unit, self.repetition = unit, repetition
        self.listed = listed or dict.fromkeys(study.settings, study.models)
        # a model with the papers' constants shares the box of the one whose place it takes
        of = _PAPERS if listed else {}
        self.boxes = {name: _identifier(of.get(name, name)) for name in study.models}
        self.labels = {_identifier(of.get(k, k)): of.get(k, k) for k in study.models}
        n_rows = max(len(names) for names in self.listed.values())
        self.drawn = ResultBrowser(study, unit, repetition, n_rows)

    def explorer(self, name: str, lessons: Sequence[Lesson]) -> Explorer:
        """Return the explorer, with lessons of its own and those that any table may teach."""
        study, controls = self.study, dict[str, Control]()
        if self.setting:
            controls[self.setting] = Choice(study.settings, label=_LABELS[self.setting])
        controls["n_train"] = Choice(study.sizes, label=f"training {self.unit}")
        controls["reference"] = Choice([_NONE, *study.models], label="subtract the errors of")
        for box, model in self.labels.items():
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
        rows = self.listed[setting]
        return browser_frame(self.study, setting, values["n_train"], models, reference, rows)

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
        elsewhere = frame.setting == _OF_PAPERS and frame.reference not in frame.rows
        whose = f"{frame.reference}{' with chosen constants' if elsewhere else ''}"
        return (
            f"{what}, {times}: error minus that of {whose}, in points with 95 % interval: {shown}."
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
        return self.title.format(frame.setting)

    def _values(self, setting: Any, size: int, models: Iterable[str], reference: str) -> dict:
        chosen = {self.boxes[name] for name in models}
        values = {"n_train": size, "reference": reference}
        if self.setting:
            values[self.setting] = setting
        return values | {box: box in chosen for box in self.labels}

    # -- lessons ------------------------------------------------------------------------------

    def _hidden_difference(self) -> list[Lesson]:
        """Return where two intervals overlap and the difference is clearest nevertheless."""
        found = [
            (abs(difference.mean) / max(difference.half, 1e-12), setting, size, a, b)
            for setting, size in self.study.errors
            for a, b in itertools.permutations(self.listed[setting], 2)
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


def _copies_spare_sparsity(study: StudyErrors) -> list[Lesson]:
    """Return that the L1 penalty is ahead of every other model."""
    if "L1-CRF" not in study.models:
        return []

    def holds(**_: Any) -> bool:
        others = [name for name in study.models if name != "L1-CRF"]
        frames = [browser_frame(study, study.settings[0], n, others, "L1-CRF") for n in study.sizes]
        return all(interval.low > 0 for frame in frames for interval in frame.here.values())

    boxes = {_identifier(name): True for name in study.models}
    move = {"n_train": study.sizes[0], "reference": "L1-CRF", **boxes}
    fact = "Copies do not spoil sparsity: the L1-CRF errs least, with any number of sequences."
    return [Lesson(move, fact, holds)]


def _constants_matter(study: StudyErrors) -> list[Lesson]:
    """Return what the constants of the papers cost M3N, and what stopping early gives back."""
    early, optimum = "M3N sub-gradient", "M3N at its optimum"
    if not {"M3N", early, optimum} <= set(study.models):
        return []

    def holds(*, n_train: int, **_: Any) -> bool:
        of = study.of
        cost = mean_interval(of(_OF_PAPERS, n_train, early, "M3N").values())
        spared = mean_interval(of(_OF_PAPERS, n_train, early, optimum).values())
        return cost.low > 0 > spared.high

    boxes = {_identifier(name): name == "M3N" for name in _MODELS if name in study.models}
    move = {"constants": _OF_PAPERS, "n_train": study.sizes[-1], "reference": "M3N", **boxes}
    fact = (
        "With the papers' constant M3N errs more than with a chosen one, most of all at its optimum: "
        "stopping early mends part of what the constant spoils."
    )
    return [Lesson(move, fact, holds)]


def _penalty_pays(study: StudyErrors) -> list[Lesson]:
    """Return that the CRF without a penalty loses, on four folds of five or more."""
    if not {"CRF", "L2-CRF"} <= set(study.models):
        return []

    def holds(*, n_train: int, **_: Any) -> bool:
        losses = list(study.of(study.settings[0], n_train, "CRF", "L2-CRF").values())
        return mean_interval(losses).low > 0 and float(np.mean(np.array(losses) > 0)) >= 0.8

    boxes = {_identifier(name): name == "CRF" for name in _MODELS if name in study.models}
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
