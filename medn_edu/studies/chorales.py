"""The study ``chorales``: the chords of Bach's chorales, with more weights than events to learn from.

How it works stands at the head of ``chorales.md``.
"""

import textwrap
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path as FilePath
from typing import Any, Self

import numpy as np

from medn_edu.datasets import transpose_chorales
from medn_edu.datasets.chorales import chord_pitch
from medn_edu.explorers.kit.panels import letter_panels
from medn_edu.explorers.kit.style import INK, MUTED, new_figure, save_figure, series_style, styled
from medn_edu.intervals import half_interval
from medn_edu.studies.kit.fair import (
    CHOICE_COLUMNS,
    NAMES,
    Ranges,
    choices_text,
    ending_after,
    fair_grids,
    fair_model,
    fair_models,
    fair_paths,
    grids_text,
    measure_choice,
    shapes_text,
)
from medn_edu.studies.kit.figures import draw_dots
from medn_edu.studies.kit.lookup import Lookup
from medn_edu.studies.kit.models import Model, PerLetter
from medn_edu.studies.kit.selection import CHOICE, TRIED, Path
from medn_edu.studies.kit.specs import FitSpec, Report, Row, Study
from medn_edu.studies.kit.splits import N_PARTS, chorale_split
from medn_edu.studies.kit.summary import (
    Column,
    differences,
    groups,
    largest,
    mean,
    numbers,
    numbers_text,
    percent,
    plus_minus,
    read_constants,
    table,
    values,
)
from medn_edu.studies.kit.texts import Texts, bullets, counted, listed, paragraphs
from medn_edu.studies.kit.trained import Trained, label_error

_TEXTS = Texts("chorales.md")

RANGES = Ranges(l2_crf=(30, 0.1), l1_crf=(20, 0.4), m3n=(0.01, 0.6), l1_m3n=(0.04, 0.5))
"""Constants of the fair protocol, before paths are extended."""

_COARSE = 5e-2  # gap of fits that only judge constants
_CHOICE: dict[str, Any] = {"n_folds": N_PARTS - 1, "n_tried": 1, "in_order": True, "tol": _COARSE}
_REFERENCE = "M3N"  # whose errors are subtracted


# -- models ---------------------------------------------------------------------------------------


class Chords(Lookup):
    """Looks up the chord that was the commonest with the same first features in training."""

    def __init__(self, n_features: int = 12) -> None:
        self.n_features = n_features

    def keys(self, x: np.ndarray) -> list[Hashable]:
        """Return the first features of each event; without any, all events are alike."""
        return [event[: self.n_features].tobytes() for event in x]


class InAllKeys:
    """A model that is trained on chorales in all twelve keys; it is asked for the key they are in.

    There are twelve times as many events, so prices are multiplied by ``share``, and the penalties of
    CRFs divided by it.  With a twelfth all twelve copies together weigh as much as one chorale.
    """

    def __init__(self, name: str, share: float = 1 / 12, **constants: float) -> None:
        self.constants = constants
        self.model = _CHAINS[name].build(**constants).set_params(tol=2e-2)
        self.set_params(share=share)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters of the model, and its share."""
        return {**self.model.get_params(deep), "share": self.share}

    def set_params(self, **given: Any) -> Self:
        """Set parameters of the model, and its share."""
        if "share" in given:
            self.share = given.pop("share")
            name, times = ("C", self.share) if "C" in self.constants else ("lam", 1 / self.share)
            if name in self.constants:  # not yet, where only the other settings are asked for
                given[name] = times * self.constants[name]
        self.model.set_params(**given)
        return self

    def fit(self, X: Sequence[np.ndarray], y: Sequence[Sequence[str]]) -> Self:
        """Train on each chorale in twelve keys."""
        self.model.fit(*transpose_chorales(X, y))
        return self

    def __getattr__(self, name: str) -> Any:
        if name == "model":  # asked for before there is one
            raise AttributeError(name)
        return getattr(self.model, name)


SHARES = tuple(2.0**k / 12 for k in range(4))
"""Shares that are tried, before the path is extended."""


def _in_all_keys(name: str) -> Model:
    """Return a model in all keys that chooses its share; other constants are given."""
    model = Model(f"{name}{_KEYS}", partial(InAllKeys, name), f"{name}, trained in all keys")
    path = Path("share", tuple(float(f"{share:.4g}") for share in SHARES))
    return fair_model(model.name, (path,), {model.name: model}, **_CHOICE)


_KEYS = ", 12 keys"
TRANSPOSED = ("L2-CRF", "M3N", "LapMEDN")
"""Models that are also trained on chorales in all keys."""

_TABLES = {"commonest chord": 0, "notes": 12, "notes and bass": 24}
_PER_EVENT = "per event"
_PLAIN = (*_TABLES, _PER_EVENT)
ORDER = (*_PLAIN, *NAMES, *(f"{name}{_KEYS}" for name in TRANSPOSED))
"""All models, in the order of tables."""


MOST_PASSES = 100
"""Passes after which fits of LapMEDN end."""

_CHAINS = ending_after(MOST_PASSES)
_MODELS: dict[str, Model] = {
    **{
        name: Model(name, partial(Chords, n), f"the commonest chord by {n} features")
        for name, n in _TABLES.items()
    },
    _PER_EVENT: fair_model(
        _PER_EVENT,
        fair_paths("per letter", RANGES),
        {_PER_EVENT: Model(_PER_EVENT, PerLetter, "logistic regression of each event by itself")},
        **_CHOICE,
    ),
    **fair_models(RANGES, NAMES, _CHAINS, **_CHOICE),
    **{f"{name}{_KEYS}": _in_all_keys(name) for name in TRANSPOSED},
}
_QUICK = (*_TABLES, "L2-CRF", "L1-CRF", "M3N", f"M3N{_KEYS}")


_CHOOSING = tuple(name for name in ORDER if name not in (*_TABLES, "CRF"))


# -- fits -----------------------------------------------------------------------------------------


def _specs(scale: str, seed: int) -> list[FitSpec]:
    quick = scale == "quick"
    data = f"chorales-{1 if quick else N_PARTS - 1}"
    specs: dict[tuple[int, str], FitSpec] = {}
    for fold in range(2 if quick else N_PARTS):
        for name in _QUICK if quick else ORDER:
            by = specs[fold, name.removesuffix(_KEYS)].key if name.endswith(_KEYS) else ""
            tried = TRIED[scale] if name in _CHOOSING else ()
            specs[fold, name] = FitSpec(data, fold, name, tried, seed, by)
    return list(specs.values())


_MAJOR = ("EbM", "BbM", "F_M", "C_M", "G_M", "D_M", "A_M", "E_M", "B_M", "F#M")
_MINOR = ("Bbm", "F_m", "C_m", "G_m", "D_m", "A_m", "E_m", "B_m", "F#m", "C#m")
TRIADS = (*_MAJOR, *_MINOR)
"""The ten commonest major and minor triads, each a fifth above the one before."""
_NOTES = {"M": (0, 4, 7), "m": (0, 3, 7)}  # of a triad, in semitones above its root
_WALL = ("L1-M3N", "L1-CRF", "LapMEDN", "M3N")
_MEASURED = ("n_events", "n_unseen", "error_sound", "error_root", "triads", *CHOICE_COLUMNS)


def _measure(spec: FitSpec, model: Any) -> Row:
    data = chorale_split(spec)
    known = set(np.concatenate(data.y_train))
    predicted = model.predict(data.X_test)
    return {
        "n_events": sum(map(len, data.y_test)),
        "n_unseen": sum(chord not in known for chords in data.y_test for chord in chords),
        "error_sound": label_error(_each(_sound, predicted), _each(_sound, data.y_test)),
        "error_root": label_error(_each(chord_pitch, predicted), _each(chord_pitch, data.y_test)),
        "triads": _triads(model) if spec.model in _WALL and spec.fold == 0 else None,
        **measure_choice(spec, model),
    }


def _each(what: Callable[[str], Any], labellings: Iterable[Iterable[str]]) -> list[list[Any]]:
    return [[what(chord) for chord in chords] for chords in labellings]


def _sound(chord: str) -> tuple[int, str]:
    """Return what of a chord can be heard: C#M and DbM are the same."""
    return chord_pitch(chord), chord[2:]


def _triads(model: Any) -> str:
    """Write down the weights of sounding notes for some triads, from the root upwards."""
    place = {str(chord): k for k, chord in enumerate(model.classes_)}
    unknown = np.full(12, np.nan)  # of a chord that did not occur in training
    lines = [
        np.roll(model.coef_[place[chord], :12], -chord_pitch(chord)) if chord in place else unknown
        for chord in TRIADS
    ]
    return numbers_text(lines, ".4g")


def triad_weights(row: Row) -> np.ndarray:
    """Return the weights of notes for each of `TRIADS`, a line for each, from the root upwards."""
    return numbers(row["triads"]).reshape(len(TRIADS), 12)


# -- what comes out -------------------------------------------------------------------------------


def lines_of(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """Return a line for each model: mean errors over folds, with intervals.

    Training parts of two folds overlap, so errors on them are not independent; the intervals are
    Student's with the correction of Nadeau and Bengio (2003).
    """
    found = groups(rows, "model", order=ORDER.index)
    lines = []
    for name, group in found.items():
        base = name.removesuffix(_KEYS) if name.endswith(_KEYS) else _REFERENCE
        less = differences(group, found.get(base, ())) if name != base else np.empty(0)
        overlap = group[0]["n_test"] / group[0]["n_train"]
        lines.append(
            {
                "model": name,
                "folds": len(group),
                "error": mean(group, "error"),
                "interval": half_interval(values(group, "error"), overlap=overlap),
                "error_sound": mean(group, "error_sound"),
                "error_root": mean(group, "error_root"),
                "train_error": mean(group, "train_error"),
                "against": base if len(less) else None,
                "less": float(less.mean()) if len(less) else None,
                "less_interval": half_interval(less, overlap=overlap) if len(less) else None,
                "largest_gap": largest(group, "relative_gap"),
                "n_nonzero": mean(group, "n_nonzero"),
                "n_weights": mean(group, "n_weights"),
            }
        )
    return lines


def _draw_errors(rows: Sequence[Row], path: FilePath) -> None:
    """Draw the errors of all models, and how far each is from M3N on the same folds."""
    found = {line["model"]: line for line in lines_of(rows) if line["model"] != "commonest chord"}
    names = sorted(found, key=lambda name: (ORDER.index(name.removesuffix(_KEYS)), len(name)))
    by_model = groups(rows, "model")
    figure = new_figure(11.5, 1.6 + 0.34 * len(names))
    with styled():
        left, right = axes = figure.subplots(1, 2, sharey=True, width_ratios=[1.2, 1])
        for y, name in enumerate(names):
            line, style = found[name], _style(name)
            errors = 100 * values(by_model[name], "error")
            left.plot(errors, np.full(len(errors), y), "|", color=style["color"], alpha=0.5)
            left.errorbar(100 * line["error"], y, xerr=100 * line["interval"], **style)
            if line["less"] is not None:
                right.errorbar(100 * line["less"], y, xerr=100 * line["less_interval"], **style)
        left.set_yticks(range(len(names)), names)
        left.set_ylim(len(names) - 0.5, -0.5)
        left.set_xlabel("test error (% of events)")
        left.set_title("Which chord is it?")
        right.axvline(0, color=INK, linewidth=1)
        right.set_xlabel("difference from M3N, or of 12 keys from one (percentage points)")
        right.set_title("On the same chorales")
        # Of few folds bars may be wider than the picture.
        left.set_xlim(0, 130 * max(line["error"] for line in found.values()))
        reach = 150 * max(abs(line["less"] or 0) for line in found.values())
        right.set_xlim(-reach, reach)
        for ax in axes:
            ax.grid(axis="both")
            ax.tick_params(axis="y", length=0)
            ax.spines["left"].set_visible(False)
        letter_panels(axes)
        n = max(line["folds"] for line in found.values())
        figure.supxlabel(_TEXTS("note", folds=counted(n, "fold")), fontsize=9, color=MUTED)
    save_figure(figure, path)


def _style(name: str) -> dict[str, Any]:
    style = series_style(name.removesuffix(_KEYS).replace(_PER_EVENT, "per letter"))
    hollow = {"markerfacecolor": "white"} if name.endswith(_KEYS) else {}
    return {**style, "linestyle": "none", "markersize": 7, "elinewidth": 1.4, **hollow}


_STEPS = ("root", "♭2", "2", "♭3", "3", "4", "♭5", "5", "♭6", "6", "♭7", "7")


def _draw_wall(rows: Sequence[Row], path: FilePath) -> None:
    """Draw what each prior keeps: for each triad a dot per note, as large as its weight."""
    shown = [row for name in _WALL for row in rows if row["model"] == name and row["triads"]]
    figure = new_figure(4.1 * len(shown) + 1.2, 9.2)
    with styled():
        panels = figure.subplots(1, len(shown), sharey=True, squeeze=False)[0]
        for ax, row in zip(panels, shown, strict=True):
            cells = [
                (note, y)
                for y, chord in zip(_heights(), TRIADS, strict=True)
                for note in _NOTES[chord[2]]
            ]
            draw_dots(ax, triad_weights(row), _heights(), cells)
            ax.set_xticks(range(12), _STEPS, fontsize=11)
            ax.set_title(f"{row['model']}: {_kept(row)}", fontsize=13)
        letter_panels(panels, fontsize=13)
        panels[0].set_yticks(_heights(), [_title(chord) for chord in TRIADS], fontsize=12)
        note = textwrap.fill(_TEXTS("wall-note"), 52 * len(shown))
        figure.supxlabel(note, fontsize=11, color=MUTED)
    save_figure(figure, path)


def _heights() -> list[float]:
    """Return where the lines of triads stand; minor ones below major ones, with a gap."""
    return [k + 0.9 * (k >= len(_MAJOR)) for k in range(len(TRIADS))]


def _title(chord: str) -> str:
    root = chord[:2].rstrip("_").replace("b", "♭").replace("#", "♯")
    return f"{root} {'major' if chord[2] == 'M' else 'minor'}"


def _kept(row: Row) -> str:
    """Say how many of the shown weights are not zero."""
    weights = triad_weights(row)
    known = weights[~np.isnan(weights)]
    return f"{np.count_nonzero(known)} of {len(known)} weights"


def found_triads(row: Row) -> tuple[int, int, float]:
    """Return for how many triads the three largest weights are their notes, of how many, and a share.

    The share is that of the notes of triads in all positive weights that are shown.
    """
    known = [
        (list(_NOTES[chord[2]]), line)
        for chord, line in zip(TRIADS, triad_weights(row), strict=True)
        if not np.isnan(line).any()
    ]
    found = sum(set(np.argsort(-line)[:3]) == set(notes) for notes, line in known)
    inside = sum(np.maximum(line[notes], 0).sum() for notes, line in known)
    total = sum(np.maximum(line, 0).sum() for _, line in known)
    return found, len(known), float(inside / total)


_COLUMNS = (
    "model", "folds", "error", "interval", "error_sound", "error_root", "train_error", "against",
    "less", "less_interval", "largest_gap", "n_nonzero", "n_weights",
)  # fmt: skip


def _with_interval(mean: str, half: str, sign: str = "") -> Callable[[Mapping[str, Any]], str]:
    def cell(line: Mapping[str, Any]) -> str:
        spread = line[half]
        known = None if spread is None or np.isnan(spread) else spread
        return plus_minus(line[mean], known, ".1f", times=100, sign=sign)

    return cell


_TABLE = (
    Column("model", "model"),
    Column("error (%)", _with_interval("error", "interval"), right=True),
    Column("without names", "error_sound", percent(), right=True),
    Column("root", "error_root", percent(), right=True),
    Column("in training", "train_error", percent(), right=True),
    Column("points more than", "against"),
    Column("", _with_interval("less", "less_interval", "+"), right=True),
    Column("largest gap", "largest_gap", percent(), right=True),
    Column("not zero", lambda line: line["n_nonzero"] / line["n_weights"], percent(".0f"), right=True),
)  # fmt: skip


def _report(rows: Sequence[Row], scale: str) -> Report:
    lines = lines_of(rows)
    summary = table(_TABLE, lines)
    one_each = list(groups(rows, "fold").values())
    events, unseen = (
        sum(group[0][name] for group in one_each) for name in ("n_events", "n_unseen")
    )
    weights = max(line["n_weights"] for line in lines if line["model"] in NAMES)
    first = rows[0]
    caption = _TEXTS(
        "caption",
        n_test=first["n_test"],
        n_train=first["n_train"],
        folds=counted(len(one_each), "fold"),
        weights=weights,
        grids=grids_text(
            fair_grids(RANGES, NAMES) | {_PER_EVENT: fair_paths("per letter", RANGES)}
        ),
        choice=CHOICE[scale],
        choices=choices_text(row for row in rows if row["model"] in NAMES),
        commonest=_of(lines, "commonest chord")["error"] * 100,
    )
    said = bullets(
        [
            _TEXTS("unseen", unseen=unseen, events=events, share=100 * unseen / events),
            *_findings(lines),
            *_kept_texts(rows),
        ]
    )
    gaps = _TEXTS("gaps", passes=MOST_PASSES, shares=_shares(rows))
    shapes = shapes_text(row for row in rows if row["model"] in NAMES)
    return Report(
        _COLUMNS,
        lines,
        f"{summary.text()}\n\n{said}",
        f"{paragraphs(caption, gaps, shapes)}\n\n{_TEXTS('table')}\n\n"
        f"{summary.markdown()}\n{said}\n",
        {"notes": f"{paragraphs(_TEXTS('wall', n_train=first['n_train']))}\n"},
    )


def _shares(rows: Sequence[Row]) -> str:
    """Say which shares were chosen, and how often."""
    keys = [row for row in rows if row["model"].endswith(_KEYS)]
    texts = []
    for name, group in groups(keys, "model").items():
        counts = Counter(dict(read_constants(row["chosen"]))["share"] for row in group)
        chosen = ", ".join(f"{12 * share:.2g}/12 ({n})" for share, n in sorted(counts.items()))
        texts.append(f"{name.removesuffix(_KEYS)} {chosen}")
    return "; ".join(texts)


def _of(lines: Sequence[Mapping[str, Any]], model: str) -> Mapping[str, Any]:
    return next(line for line in lines if line["model"] == model)


def _findings(lines: Sequence[Mapping[str, Any]]) -> list[str]:
    """Say who errs least, whose distance to M3N is sure, and what other keys bring."""
    compared = [line for line in lines if line["model"] in NAMES]
    best = min(compared, key=lambda line: line["error"])
    texts = [_TEXTS("best", model=best["model"], error=100 * best["error"])]
    sure = [
        line["model"]
        for line in compared
        if line["less"] is not None and abs(line["less"]) > line["less_interval"]
    ]
    texts.append(_TEXTS("sure", models=listed(sure)) if sure else _TEXTS("none-sure"))
    texts += [
        _TEXTS(
            "keys", model=line["against"], more=_with_interval("less", "less_interval", "+")(line)
        )
        for line in lines
        if line["model"].endswith(_KEYS)
    ]
    return texts


def _kept_texts(rows: Sequence[Row]) -> list[str]:
    """Say for each model of the wall how well its weights show the notes of triads."""
    texts = []
    for name in _WALL:
        for row in (row for row in rows if row["model"] == name and row["triads"]):
            found, n_triads, share = found_triads(row)
            texts.append(
                _TEXTS(
                    "kept",
                    model=name,
                    found=found,
                    n_triads=n_triads,
                    share=100 * share,
                    kept=_kept(row),
                )
            )
    return texts


CHORALES_STUDY = Study(
    "chorales",
    "Bach's chords: more weights than events",
    fits=_specs,
    fit=Trained(chorale_split, models=_MODELS, measure=_measure, measured=_MEASURED),
    draw=_draw_errors,
    report=_report,
    remarks=_TEXTS("remarks"),
    duration="quick 15 s, paper 40 min",
    more_figures={"notes": _draw_wall},
    place=8,
)
"""The study."""
