"""The study ``ocr-full``: all OCR letters, and words that were not there in training.

**All words**, as in the later literature: folds 1-9 train and fold 0 tests (6,251 and 626 words), and
the reverse.

**Words that never trained.**  Only 55 different words occur in these letters, each of them in every
fold, so a chain can learn them by heart.  What that is worth is measured here: of the different
words a fifth is kept from training, and their images test; next to it the same test with as many
training words, of all kinds.

Every constant is chosen on words that train, along a short warm-started path; words that test have no
part in it:

* *folds 1-9 train*: 2,000 of their words train, drawn at random, and the others test;
* *fold 0 trains*: three-fold cross-validation;
* *words that never trained*: the same for each fifth, on the words that train without it, so that not
  even other images of the held-out words are seen.  The fits next to it take over these constants.

At quick scale each choice is made on its first split only.

LapMEDN has ``C = 1`` and chooses ``lam``; its variational form takes over what the exact one has
chosen.  L1-M3N on folds 1-9 has nothing to choose: with a ``C`` larger than 0.1 it trains for minutes.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from medn_edu.explorers import MUTED, new_figure, save_figure, styled
from medn_edu.intervals import deviation
from medn_edu.studies.kit.figures import draw_error_bars
from medn_edu.studies.kit.models import MODELS, Model
from medn_edu.studies.kit.selection import CHOICE, TRIED, Grid, Selected, read_constants
from medn_edu.studies.kit.specs import FitSpec, Report, Study
from medn_edu.studies.kit.splits import N_UNSEEN_PARTS, ocr_split
from medn_edu.studies.kit.tables import markdown_table, text_table
from medn_edu.studies.kit.trained import Trained
from medn_edu.studies.ocr import grid_errors
from medn_edu.studies.ocr_constants import GRIDS as OCR_GRIDS
from medn_edu.studies.ocr_reports import (
    MEMORY,
    MEMORY_NOTE,
    bullets,
    ends_sentence,
    fits_text,
    grids_text,
    is_at_end,
    listed,
    summary_line,
    values_text,
    with_spread,
)

# ---------------------------------------------------------------------------------------------
# models

_PRICES: Grid = (("C", (0.03, 0.1, 0.3, 1.0, 3.0)),)
_PENALTIES: Grid = (("lam", (16.0, 9.0, 4.0, 1.0, 0.3, 0.1)),)
_GRIDS: dict[str, Grid] = {
    "per letter": _PRICES,
    "L2-CRF": _PENALTIES,
    "L1-CRF": _PENALTIES,
    "M3N": _PRICES,
    "epsilon-M3N": (("C", (0.1, 0.3, 1.0, 3.0)),),
    "L1-M3N": (("C", (0.1, 0.2, 0.3)),),
    "LapMEDN": (("lam", (100.0, 36.0, 9.0, 4.0, 1.0)),),
}
_FIXED: dict[str, dict[str, float]] = {
    "epsilon-M3N": {"epsilon": 0.5},
    "LapMEDN variational": {"C": 1.0},
    "LapMEDN": {"C": 1.0},
}
_GIVEN = {("ocr-rest", "L1-M3N"): (("C", 0.1),)}  # larger ones take minutes
_TAKEN_OVER = {"LapMEDN variational": "LapMEDN"}  # by the first, from the second
_WHOLE = {"ocr-one": "Fold 0 trains, 1-9 test", "ocr-rest": "Folds 1-9 train, 0 tests"}
_HELD_OUT = {"ocr-seen": "seen", "ocr-unseen": "not seen"}
_WAYS: dict[str, dict[str, Any]] = {
    "ocr-rest": {"blocks": (2000,)},
    "ocr-one": {"n_folds": 3},
    "ocr-unseen": {"n_folds": 3},
}


def _chooser(name: str, data: str) -> Model:
    """Return the model that chooses another's constants on the words that train."""
    options: dict[str, Any] = {**_WAYS[data], **_FIXED.get(name, {})}
    build = partial(Selected, name, _GRIDS[name], MODELS, **options)
    return Model(_chooser_name(name, data), build, f"chooses the constants of {name}")


def _chooser_name(name: str, data: str) -> str:
    return f"{name}, chosen for {data}"


_CHOOSERS = {
    model.name: model for model in (_chooser(name, data) for data in _WAYS for name in _GRIDS)
}


# ---------------------------------------------------------------------------------------------
# fits

_UNSEEN_MODELS = ("per letter", "L2-CRF", "M3N", "LapMEDN")
# At quick scale, with the choice of their constants, they would take too long.
_LONG = ("per letter", "L1-CRF", "epsilon-M3N", "L1-M3N", "LapMEDN variational", "LapMEDN")
_SLOW = {
    "ocr-rest": (*_LONG, "CRF"),
    "ocr-one": (*_LONG, "M3N"),
    "ocr-unseen": ("LapMEDN",),
    "ocr-seen": ("LapMEDN",),
}


def _specs(scale: str, seed: int) -> list[FitSpec]:
    quick = scale == "quick"
    parts = range(1 if quick else N_UNSEEN_PARTS)
    places: list[tuple[str, int, Iterable[str]]] = [
        *((data, part, _UNSEEN_MODELS) for part in parts for data in _HELD_OUT),
        *((data, 0, MODELS) for data in _WHOLE),
    ]
    fits, choosers = [], {}
    for data, part, names in places:
        for name in names:
            if not (quick and name in _SLOW[data]):
                by = _choosing_spec(data, part, name, scale, seed)
                parameters = _GIVEN.get((data, name), tuple(_FIXED.get(name, {}).items()))
                fits.append(FitSpec(data, part, name, parameters, seed, by.key if by else ""))
                if by:
                    choosers[by.key] = by
    return [*choosers.values(), *fits]


def _choosing_spec(data: str, part: int, name: str, scale: str, seed: int) -> FitSpec | None:
    """Return the fit that chooses a model's constants, if there are any to choose."""
    of = _TAKEN_OVER.get(name, name)
    if of not in _GRIDS or (data, of) in _GIVEN:
        return None
    source = "ocr-unseen" if data == "ocr-seen" else data
    return FitSpec(f"{source}-choosing", part, _chooser_name(of, source), TRIED[scale], seed)


# ---------------------------------------------------------------------------------------------
# figure


def _of(rows: Iterable[dict[str, Any]], data: str) -> list[dict[str, Any]]:
    """Return the fits to some data, in the order of the models."""
    order = list(MODELS)
    found = [row for row in rows if row["data"] == data and row.get("error") is not None]
    return sorted(found, key=lambda row: order.index(row["model"]))


def _draw(rows: Sequence[dict[str, Any]], path: Path) -> None:
    figure = new_figure(13.5, 4.8)
    lines = _unseen_lines(rows)
    reach = [line[data] + line[f"{data}_deviation"] for line in lines for data in _HELD_OUT]
    widest = max([row["error"] for data in _WHOLE for row in _of(rows, data)] + reach, default=0.0)
    with styled():
        *panels, right = figure.subplots(1, 3)
        for ax, (data, title) in zip(panels, _WHOLE.items(), strict=True):
            found = _of(rows, data)
            models = [row["model"] for row in found]
            draw_error_bars(ax, models, [row["error"] for row in found], widest=widest)
            ax.set_yticks(range(len(models)), [_label(data, name) for name in models])
            ax.set_xlabel(f"test error (% of labels), {fits_text(1)}")
            ax.set_title(title)
        _draw_unseen(right, lines, widest)
        figure.supxlabel(MEMORY_NOTE, fontsize=9, color=MUTED)
    save_figure(figure, path)


def _label(data: str, model: str) -> str:
    """Return a model's name, marked where its constant was not chosen."""
    given = " and ".join(name for name, _ in _GIVEN.get((data, model), ()))
    return f"{model} ({given} given)" if given else model


def _draw_unseen(ax: Any, lines: Sequence[dict[str, Any]], widest: float) -> None:
    """Draw each model's errors on words that trained and on words that did not."""
    models, names, errors, deviations = [], [], [], []
    for line in lines:
        for data, what in _HELD_OUT.items():
            models.append(line["model"])
            names.append(f"{line['model']}, {what}")
            errors.append(line[data])
            deviations.append(line[f"{data}_deviation"])
    draw_error_bars(ax, models, errors, deviations, widest=widest)
    ax.set_yticks(range(len(names)), names)
    for bar in ax.patches[::2]:  # seen: paler, but not transparent, as lines of the grid are below
        bar.set_facecolor(1 - 0.45 * (1 - np.array(bar.get_facecolor())))
    n_parts = max((line["fits"] for line in lines), default=0)
    ax.set_xlabel(f"test error (% of labels), {fits_text(n_parts)}", loc="right")
    ax.set_title("Words seen in training, or never")


def _unseen_lines(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return a line for each model, with its errors on the same words, seen and not seen."""
    errors: dict[str, dict[str, dict[int, float]]] = {}
    for data in _HELD_OUT:
        for row in _of(rows, data):
            errors.setdefault(row["model"], {}).setdefault(data, {})[row["fold"]] = row["error"]
    lines = []
    for model in (name for name in MODELS if len(errors.get(name, {})) == len(_HELD_OUT)):
        seen, unseen = (errors[model][data] for data in _HELD_OUT)
        parts = sorted(set(seen) & set(unseen))
        line: dict[str, Any] = {"model": model, "fits": len(parts)}
        for data, found in zip(_HELD_OUT, (seen, unseen), strict=True):
            values = [found[part] for part in parts]
            line[data] = float(np.mean(values))
            line[f"{data}_deviation"] = deviation(values) or 0.0
        line["worse"] = sum(unseen[part] > seen[part] for part in parts)
        lines.append(line)
    return lines


# ---------------------------------------------------------------------------------------------
# report

_COLUMNS = (
    "data", "model", "fits", "error", "error_deviation", "train_error", "largest_gap", "parameters",
    "at_end_of_grid",
)  # fmt: skip


def _report(rows: Sequence[dict[str, Any]], scale: str) -> Report:
    table = [
        _line(data, model, group)
        for data in (*_WHOLE, *_HELD_OUT)
        for model in MODELS
        if (group := [row for row in _of(rows, data) if row["model"] == model])
    ]
    head = ["model", *(text for title in _WHOLE.values() for text in (title, "constants"))]
    cells = _whole_cells(table)
    listed = bullets(_unseen_texts(_unseen_lines(rows)))
    caption = "\n\n".join(
        [
            *(
                textwrap.fill(text, 100, break_on_hyphens=False)
                for text in _caption(table, rows, scale)
            ),
            f"Test errors, and constants (* at the end of their grid):\n\n{markdown_table(head, cells)}"
            f"\n{listed}\n",
        ]
    )
    text = f"{text_table(head, cells, right=[1, 3])}\n\n{listed}"
    return Report(_COLUMNS, table, text, caption)


def _line(data: str, model: str, group: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return a line of the table; its constants are those of all parts."""
    constants = list(dict.fromkeys(str(row.get("parameters") or "") for row in group))
    chosen = (data, model) not in _GIVEN
    grid = _GRIDS.get(_TAKEN_OVER.get(model, model), ())
    return {
        **summary_line(model, 0, group, ""),
        "data": data,
        "parameters": ", ".join(constants),
        "at_end_of_grid": chosen and any(is_at_end(grid, text) for text in constants),
    }


def _whole_cells(table: Sequence[dict[str, Any]]) -> list[list[str]]:
    found = {(line["data"], line["model"]): line for line in table}
    return [
        [name, *(text for data in _WHOLE for text in _error_and_constants(found.get((data, name))))]
        for name in MODELS
        if any((data, name) in found for data in _WHOLE)
    ]


def _error_and_constants(line: dict[str, Any] | None) -> tuple[str, str]:
    if line is None:
        return "–", "–"
    return f"{line['error']:.3f}", line["parameters"] + ("*" if line["at_end_of_grid"] else "")


def _unseen_texts(lines: Sequence[dict[str, Any]]) -> list[str]:
    """Say how much larger errors are on words that never trained."""
    return [
        f"{line['model']}: {line['ocr-seen']:.3f} on words that trained, {line['ocr-unseen']:.3f} on "
        f"words that did not, {100 * (line['ocr-unseen'] - line['ocr-seen']):+.1f} points (worse in "
        f"{line['worse']} of {line['fits']} parts)."
        for line in lines
    ]


def _caption(
    table: Sequence[dict[str, Any]], rows: Sequence[dict[str, Any]], scale: str
) -> tuple[str, ...]:
    """Return the paragraphs above the tables; the first one explains the figure by itself."""
    n_parts = max((line["fits"] for line in _unseen_lines(rows)), default=0)
    drawn = {(line["data"], line["model"]) for line in table}
    given = "".join(
        f"  {model} on folds 1-9 is given {listed([f'{name} = {c:g}' for name, c in constants])}: "
        "with larger ones it would train for minutes."
        for (data, model), constants in _GIVEN.items()
        if (data, model) in drawn
    )
    return (
        "OCR letters, all of them, with the same axis in all panels.  Left and middle: fold 0 trains "
        "and folds 1-9 test, then the reverse (626 and 6,251 words), the two protocols of the later "
        "literature; one fit for each bar.  Right: words seen in training, or never.  The 55 different "
        f"words are dealt into {N_UNSEEN_PARTS} parts.  The images of a part's words in folds 1-9 "
        "test; of fold 0 the images of all *other* words train (not seen), or as many images of "
        f"whatever word (seen; paler).  Mean and standard deviation over {n_parts} parts, one fit for "
        f"each.  Constants are chosen on words that train.{given}{_ends(table)}",
        "Constants are chosen on words that train, none of which tests: for folds 1-9, 2,000 of their "
        "words train and the others test; for fold 0, and without the words of a part, by three-fold "
        f"cross-validation.{CHOICE[scale]}  "
        "LapMEDN has C = 1 and chooses lam, which its variational form takes over.  "
        f"Grids, from strong to weak regularisation: {grids_text(_GRIDS)}.  {_other_grids()}",
        "What it is worth that only 55 different words occur, each in every fold, the right panel "
        "shows.  Both its bars have the same test words, and the same constants, chosen without them.  "
        "Each letter occurs in the words that are left.  What the errors of *per letter*, which knows "
        "no words, grow by is due to letters, which are fewer or written otherwise; what those of the "
        "chains grow by beyond it is due to words known by heart.",
    )


def _ends(table: Sequence[dict[str, Any]]) -> str:
    """Say which chosen constants are the first or the last of their grid."""
    places = {**_WHOLE, "ocr-unseen": "words never seen"}
    texts = []
    for data, title in places.items():
        lines = [line for line in table if line["data"] == data and line["at_end_of_grid"]]
        if lines:
            models = ", ".join(f"{line['model']} ({line['parameters']})" for line in lines)
            texts.append(f"{title[0].lower()}{title[1:]}: {models}")
    return ends_sentence(texts) if any(line["data"] in places for line in table) else ""


def _other_grids() -> str:
    """Say where the grids differ from those of the study ``ocr``, and why."""
    models: dict[str, list[str]] = {}
    for name, grid in _GRIDS.items():
        if name in OCR_GRIDS and (text := _difference(grid, OCR_GRIDS[name])):
            models.setdefault(text, []).append(name)
    texts = [f"for {listed(names)} {text}" for text, names in models.items()]
    if not texts:
        return "They are those of the study ocr."
    return (
        f"The study ocr has other grids: {'; '.join(texts)}.  Fewer points are for want of time, as "
        "each of them trains on more words here."
    )


def _difference(grid: Grid, other: Grid) -> str:
    """Say what another grid has and what it lacks; how many values it has, if these are many."""
    [(_, here)], [(_, there)] = grid, other
    more = [value for value in there if value not in here]
    fewer = [value for value in here if value not in there]
    if len(more) > len(here):
        return f"{values_text(there)}"
    texts = [f"{values_text(more)} as well"] if more else []
    texts += [f"not {values_text(fewer)}"] if fewer else []
    return listed(texts) if texts else ""


# ---------------------------------------------------------------------------------------------
# both studies in one table

_SHOWN = {"ocr-100": "100 words", "ocr-250": "250 words", "ocr-rest": "folds 1–9"}
_LABELS = {
    "CRF": "CRF without penalty",
    "epsilon-M3N": "epsilon-M3N, epsilon = 0.5",
    "LapMEDN variational": "LapMEDN, C = 1, variational (3 iterations)",
    "LapMEDN": "LapMEDN, C = 1, exact",
}


def error_table(few: Iterable[dict[str, Any]], full: Iterable[dict[str, Any]]) -> str:
    """Return the README's table of test errors with chosen constants."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in (*few, *full):
        if row.get("error") is not None:
            groups.setdefault((row["model"], row["data"]), []).append(row)
    models = [name for name in MODELS if name != "per letter"]
    cells = [
        [_LABELS.get(name, name), *(_shown(groups.get((name, data), ())) for data in _SHOWN)]
        for name in models
        if any((name, data) in groups for data in _SHOWN)
    ]
    return markdown_table(["test error", *_SHOWN.values()], cells)


def _shown(group: Sequence[dict[str, Any]]) -> str:
    if not group:
        return "–"
    line = summary_line(group[0]["model"], 0, group, "")
    constants = dict(read_constants(line["parameters"]))
    fixed = _FIXED.get(line["model"], ())
    chosen = [f"{name} = {value:g}" for name, value in constants.items() if name not in fixed]
    return ", ".join([with_spread(line), *chosen])


OCR_FULL_STUDY = Study(
    "ocr-full",
    "all handwritten words: 9 folds train, or 1",
    fits=_specs,
    fit=Trained(
        ocr_split, models={**MODELS, **_CHOOSERS}, measure=grid_errors, measured=("grid_errors",)
    ),
    draw=_draw,
    report=_report,
    remarks=MEMORY,
    duration="quick 25 s, paper 5 min",
    place=8,
)
"""The study of all words, and of words that were not there in training."""
