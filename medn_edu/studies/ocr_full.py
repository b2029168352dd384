"""The study ``ocr-full``: all OCR letters, and words that were not there in training.

How it works, and what the paper leaves open, stands at the head of ``ocr_full.md``.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from medn_edu.explorers import MUTED, new_figure, save_figure, styled
from medn_edu.studies.kit.figures import draw_error_bars
from medn_edu.studies.kit.models import MODELS
from medn_edu.studies.kit.selection import CHOICE, TRIED, Grid
from medn_edu.studies.kit.specs import FitSpec, Report, Study
from medn_edu.studies.kit.splits import N_UNSEEN_PARTS, ocr_split
from medn_edu.studies.kit.summary import (
    MISSING,
    Table,
    groups,
    mean_of,
    pairs,
    read_constants,
    values,
)
from medn_edu.studies.kit.texts import Texts, bullets, listed, paragraphs
from medn_edu.studies.kit.trained import Trained
from medn_edu.studies.ocr import (
    FIXED,
    MEMORY,
    MEMORY_NOTE,
    chooser,
    ends_a_grid,
    ends_sentence,
    fits_text,
    grid_errors,
    grids_text,
    summary_line,
    values_text,
    with_spread,
)
from medn_edu.studies.ocr import GRIDS as OCR_GRIDS

_TEXTS = Texts("ocr_full.md")


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
_GIVEN = {("ocr-rest", "L1-M3N"): (("C", 0.1),)}  # larger ones take minutes
_TAKEN_OVER = {"LapMEDN variational": "LapMEDN"}  # by the first, from the second
_WHOLE = {"ocr-one": "Fold 0 trains, 1-9 test", "ocr-rest": "Folds 1-9 train, 0 tests"}
_HELD_OUT = {"ocr-seen": "seen", "ocr-unseen": "not seen"}
_WAYS: dict[str, dict[str, Any]] = {  # how constants are chosen
    "ocr-rest": {"blocks": (2000,)},
    "ocr-one": {"n_folds": 3},
    "ocr-unseen": {"n_folds": 3},
}
_CHOOSERS = {
    (name, data): chooser(name, grid, data, **way)
    for data, way in _WAYS.items()
    for name, grid in _GRIDS.items()
}


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
                parameters = _GIVEN.get((data, name), tuple(FIXED.get(name, {}).items()))
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
    return FitSpec(f"{source}-choosing", part, _CHOOSERS[of, source].name, TRIED[scale], seed)


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
    bars = [(line, data) for line in lines for data in _HELD_OUT]
    draw_error_bars(
        ax,
        [line["model"] for line, _ in bars],
        [line[data] for line, data in bars],
        [line[f"{data}_deviation"] for line, data in bars],
        widest=widest,
    )
    names = [f"{line['model']}, {_HELD_OUT[data]}" for line, data in bars]
    ax.set_yticks(range(len(names)), names)
    for bar in ax.patches[::2]:  # seen: paler, but not transparent, as lines of the grid are below
        bar.set_facecolor(1 - 0.45 * (1 - np.array(bar.get_facecolor())))
    n_parts = max((line["fits"] for line in lines), default=0)
    ax.set_xlabel(f"test error (% of labels), {fits_text(n_parts)}", loc="right")
    ax.set_title("Words seen in training, or never")


def _unseen_lines(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return a line for each model, with its errors on the same words, seen and not seen."""
    found = [groups(_of(rows, data), "model") for data in _HELD_OUT]
    lines = []
    for model in (name for name in MODELS if all(name in by_model for by_model in found)):
        seen, unseen = (by_model[model] for by_model in found)
        both = pairs(seen, unseen, by=["fold"])
        line = {"model": model, "fits": len(both)}
        for k, data in enumerate(_HELD_OUT):
            error = mean_of(values([pair[k] for pair in both], "error"))
            line |= {data: error.value, f"{data}_deviation": error.deviation or 0.0}
        line["worse"] = sum(without["error"] > whole["error"] for whole, without in both)
        lines.append(line)
    return lines


_COLUMNS = (
    "data", "model", "fits", "error", "error_deviation", "train_error", "largest_gap", "parameters",
    "at_end_of_grid",
)  # fmt: skip


def _report(rows: Sequence[dict[str, Any]], scale: str) -> Report:
    lines = [
        _line(data, model, group)
        for data in (*_WHOLE, *_HELD_OUT)
        for model, group in groups(_of(rows, data), "model").items()
    ]
    summary = _whole_table(lines)
    unseen = _unseen_lines(rows)
    said = bullets(
        _TEXTS(
            "unseen",
            model=line["model"],
            seen=line["ocr-seen"],
            unseen=line["ocr-unseen"],
            more=100 * (line["ocr-unseen"] - line["ocr-seen"]),
            worse=line["worse"],
            fits=line["fits"],
        )
        for line in unseen
    )
    above = paragraphs(*_caption(lines, max((line["fits"] for line in unseen), default=0), scale))
    caption = f"{above}\n\n{_TEXTS('table')}\n\n{summary.markdown()}\n{said}\n"
    return Report(_COLUMNS, lines, f"{summary.text()}\n\n{said}", caption)


def _line(data: str, model: str, group: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return a line of the table; its constants are those of all parts."""
    constants = list(dict.fromkeys(str(row.get("parameters") or "") for row in group))
    grid = () if (data, model) in _GIVEN else _GRIDS.get(_TAKEN_OVER.get(model, model), ())
    return {
        **summary_line(model, group, grid),
        "data": data,
        "parameters": ", ".join(constants),
        "at_end_of_grid": any(ends_a_grid(text, grid) for text in constants),
    }


def _whole_table(lines: Sequence[dict[str, Any]]) -> Table:
    """Return errors and constants where all words train or test."""
    found = {(line["data"], line["model"]): line for line in lines}
    cells = [
        [name, *(text for data in _WHOLE for text in _error_and_constants(found.get((data, name))))]
        for name in MODELS
        if any((data, name) in found for data in _WHOLE)
    ]
    head = ["model", *(text for title in _WHOLE.values() for text in (title, "constants"))]
    return Table(head, cells, right=(1, 3))


def _error_and_constants(line: dict[str, Any] | None) -> tuple[str, str]:
    if line is None:
        return MISSING, MISSING
    return f"{line['error']:.3f}", line["parameters"] + "*" * line["at_end_of_grid"]


def _caption(lines: Sequence[dict[str, Any]], n_fits: int, scale: str) -> tuple[str, ...]:
    """Return the paragraphs above the tables; the first one explains the figure by itself."""
    drawn = {(line["data"], line["model"]) for line in lines}
    given = [
        _TEXTS("given", model=model, constants=listed([f"{name} = {c:g}" for name, c in constants]))
        for (data, model), constants in _GIVEN.items()
        if (data, model) in drawn
    ]
    return (
        _TEXTS(
            "caption",
            n_parts=N_UNSEEN_PARTS,
            n_fits=n_fits,
            given="".join(f"  {text}" for text in given),
            ends=_ends(lines),
        ),
        _TEXTS(
            "choice",
            choice=CHOICE[scale],
            grids=grids_text(_GRIDS),
            other_grids=_other_grids(),
        ),
        _TEXTS("memory"),
    )


def _ends(lines: Sequence[dict[str, Any]]) -> str:
    """Say which chosen constants are the first or the last of their grid."""
    places = {**_WHOLE, "ocr-unseen": "words never seen"}
    known = [line for line in lines if line["data"] in places]
    ends = groups([line for line in known if line["at_end_of_grid"]], "data")
    texts = []
    for data, title in places.items():
        models = [f"{line['model']} ({line['parameters']})" for line in ends.get(data, ())]
        if models:
            texts.append(f"{title[0].lower()}{title[1:]}: {', '.join(models)}")
    return ends_sentence(texts) if known else ""


def _other_grids() -> str:
    """Say where the grids differ from those of the study ``ocr``, and why."""
    models: dict[str, list[str]] = {}
    for name, grid in _GRIDS.items():
        if name in OCR_GRIDS and (text := difference_text(grid, OCR_GRIDS[name])):
            models.setdefault(text, []).append(name)
    texts = [f"for {listed(names)} {text}" for text, names in models.items()]
    return _TEXTS("other-grids", grids="; ".join(texts)) if texts else _TEXTS("same-grids")


def difference_text(grid: Grid, other: Grid) -> str:
    """Say what another grid has and what it lacks; how many values it has, if these are many."""
    [(_, here)], [(_, there)] = grid, other
    more = [value for value in there if value not in here]
    fewer = [value for value in here if value not in there]
    if len(more) > len(here):
        return values_text(there)
    texts = [f"{values_text(more)} as well"] if more else []
    texts += [f"not {values_text(fewer)}"] if fewer else []
    return listed(texts) if texts else ""


# -- both studies in one table --------------------------------------------------------------------

_SHOWN = {"ocr-100": "100 words", "ocr-250": "250 words", "ocr-rest": "folds 1–9"}
_LABELS = {
    "CRF": "CRF without penalty",
    "epsilon-M3N": "epsilon-M3N, epsilon = 0.5",
    "LapMEDN variational": "LapMEDN, C = 1, variational (3 iterations)",
    "LapMEDN": "LapMEDN, C = 1, exact",
}


def error_table(few: Iterable[dict[str, Any]], full: Iterable[dict[str, Any]]) -> str:
    """Return the README's table of test errors with chosen constants."""
    known = [row for row in (*few, *full) if row.get("error") is not None]
    found = groups(known, "model", "data")
    cells = [
        [_LABELS.get(name, name), *(_shown(found.get((name, data), ())) for data in _SHOWN)]
        for name in MODELS
        if name != "per letter" and any((name, data) in found for data in _SHOWN)
    ]
    return Table(["test error", *_SHOWN.values()], cells).markdown()


def _shown(group: Sequence[dict[str, Any]]) -> str:
    if not group:
        return MISSING
    line = summary_line(group[0]["model"], group, ())
    constants = read_constants(line["parameters"])
    fixed = FIXED.get(line["model"], ())
    chosen = [f"{name} = {value:g}" for name, value in constants if name not in fixed]
    return ", ".join([with_spread(line), *chosen])


OCR_FULL_STUDY = Study(
    "ocr-full",
    "all handwritten words: 9 folds train, or 1",
    fits=_specs,
    fit=Trained(
        ocr_split,
        models={**MODELS, **{model.name: model for model in _CHOOSERS.values()}},
        measure=grid_errors,
        measured=("grid_errors",),
    ),
    draw=_draw,
    report=_report,
    remarks=MEMORY,
    duration="quick 25 s, paper 5 min",
    place=8,
)
"""The study of all words, and of words that were not there in training."""
