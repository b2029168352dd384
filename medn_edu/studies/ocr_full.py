"""The study ``ocr-full``: all OCR letters, and words that were not there in training.

How it works, and what the paper leaves open, stands at the head of ``ocr_full.md``.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from medn_edu.explorers import INK, new_figure, save_figure, styled
from medn_edu.explorers.kit.panels import letter_panels
from medn_edu.studies.kit.fair import (
    NAMES,
    choices_text,
    choosing,
    fair_grids,
    fair_models,
    grids_text,
)
from medn_edu.studies.kit.figures import draw_means
from medn_edu.studies.kit.models import Model
from medn_edu.studies.kit.selection import CHOICE
from medn_edu.studies.kit.specs import FitSpec, Report, Study
from medn_edu.studies.kit.splits import N_UNSEEN_PARTS, ocr_split
from medn_edu.studies.kit.summary import MISSING, Mean, Table, groups, mean_of, pairs, values
from medn_edu.studies.kit.texts import Texts, bullets, paragraphs
from medn_edu.studies.kit.trained import Trained
from medn_edu.studies.ocr import (
    MEASURED,
    MEMORY,
    RANGES,
    known_rows,
    measure_words,
    summary_line,
    with_spread,
)

_TEXTS = Texts("ocr_full.md")

_MODELS = ("per letter", *NAMES)
_RANGES = replace(RANGES, l1_m3n=(0.05, 0.6))  # more words ask for less
_WHOLE = {"ocr-one": "626 words train", "ocr-rest": "6,251 words train"}
_HELD_OUT = {"ocr-seen": "seen", "ocr-unseen": "not seen"}
# How many of the words that train do so while constants are chosen.
_N_WORDS = {"ocr-rest": 2000, "ocr-one": 420, "ocr-seen": 330, "ocr-unseen": 330}

# At quick scale others would take too long.
_QUICK = {
    "ocr-rest": ("L2-CRF", "M3N"),
    "ocr-one": ("CRF", "L2-CRF"),
    "ocr-unseen": ("per letter", "L2-CRF", "M3N"),
    "ocr-seen": ("per letter", "L2-CRF", "M3N"),
}


def _specs(scale: str, seed: int) -> list[FitSpec]:
    quick = scale == "quick"
    parts = range(1 if quick else N_UNSEEN_PARTS)
    places = [(data, part) for part in parts for data in _HELD_OUT] + [(d, 0) for d in _WHOLE]
    return [
        FitSpec(data, part, name, choosing(name, _N_WORDS[data], scale), seed)
        for data, part in places
        for name in (_QUICK[data] if quick else _MODELS)
    ]


def _of(rows: Iterable[dict[str, Any]], data: str) -> list[dict[str, Any]]:
    """Return the fits to some data, in the order of the models."""
    return known_rows([row for row in rows if row["data"] == data], _MODELS)


def _draw(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Draw errors of whole folds, then on words that trained and on words that did not."""
    known = {data: groups(_of(rows, data), "model") for data in (*_WHOLE, *_HELD_OUT)}
    names = [name for name in _MODELS if any(name in found for found in known.values())]
    figure = new_figure(9.6, 4.6)
    with styled():
        axes = figure.subplots(1, 3, sharex=True, sharey=True, width_ratios=[1, 1, 1.25])
        for ax, data in zip((*axes, axes[2]), known, strict=True):
            found = {name: _in_percent(known[data].get(name, ())) for name in names}
            draw_means(ax, found, fillstyle="none" if data == "ocr-unseen" else "full")
            for place, one in enumerate(found.values()) if data in _WHOLE else ():
                if one.n:
                    ax.text(one.value + 2, place, f"{one.value:.1f}", va="center", fontsize=9)
        for ax, title in zip(axes, (*_WHOLE.values(), "Words seen or never seen"), strict=True):
            ax.set_title(title)
            ax.set_xlabel("test error (% of labels)")
        for name, fill in (("words seen", "full"), ("never seen", "none")):
            axes[2].plot([], [], "o", color=INK, fillstyle=fill, label=name)
        axes[2].legend(loc="lower left", handlelength=1)
        axes[2].set_xlim(left=0)
        letter_panels(axes)
    save_figure(figure, path)


def _in_percent(rows: Sequence[dict[str, Any]]) -> Mean:
    return mean_of(100 * values(rows, "error"))


def _unseen_lines(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return a line for each model, with its errors on the same words, seen and not seen."""
    found = [groups(_of(rows, data), "model") for data in _HELD_OUT]
    lines = []
    for model in (name for name in _MODELS if all(name in by_model for by_model in found)):
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
    "data", "model", "fits", "error", "error_deviation", "train_error", "largest_gap", "chosen",
    "n_extended", "at_end",
)  # fmt: skip


def _report(rows: Sequence[dict[str, Any]], scale: str) -> Report:
    lines = [
        {"data": data, **summary_line(model, group), "chosen": _chosen(group)}
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
    n_fits = max((line["fits"] for line in unseen), default=0)
    above = paragraphs(
        _TEXTS(
            "caption",
            n_parts=N_UNSEEN_PARTS,
            n_fits=n_fits,
        ),
        _TEXTS(
            "grids",
            grids=grids_text(fair_grids(_RANGES, _MODELS)),
            choices=choices_text(rows),
        ),
        _TEXTS(
            "choice",
            choice=CHOICE[scale],
            rest=_N_WORDS["ocr-rest"],
            one=_N_WORDS["ocr-one"],
            held_out=_N_WORDS["ocr-unseen"],
        ),
        _TEXTS("memory"),
    )
    caption = f"{above}\n\n{_TEXTS('table')}\n\n{summary.markdown()}\n{said}\n"
    return Report(_COLUMNS, lines, f"{summary.text()}\n\n{said}", caption)


def _chosen(group: Sequence[dict[str, Any]]) -> str:
    """Return the constants that were chosen, those of all parts."""
    return ", ".join(dict.fromkeys(str(row.get("chosen") or "") for row in group))


def _whole_table(lines: Sequence[dict[str, Any]]) -> Table:
    """Return errors and constants where all words train or test."""
    found = {(line["data"], line["model"]): line for line in lines}
    cells = [
        [name, *(text for data in _WHOLE for text in _error_and_constants(found.get((data, name))))]
        for name in _MODELS
        if any((data, name) in found for data in _WHOLE)
    ]
    head = ["model", *(text for title in _WHOLE.values() for text in (title, "constants"))]
    return Table(head, cells, right=(1, 3))


def _error_and_constants(line: dict[str, Any] | None) -> tuple[str, str]:
    if line is None:
        return MISSING, MISSING
    return f"{line['error']:.3f}", line["chosen"] + "*" * line["at_end"]


# -- both studies in one table --------------------------------------------------------------------

_SHOWN = {"ocr-100": "100 words", "ocr-250": "250 words", "ocr-rest": "folds 1–9"}
_LABELS = {
    "CRF": "CRF without penalty",
    "LapMEDN variational": "LapMEDN, variational (3 iterations)",
    "LapMEDN": "LapMEDN, exact",
}


def error_table(few: Iterable[dict[str, Any]], full: Iterable[dict[str, Any]]) -> str:
    """Return the table of test errors with chosen constants, as the page of measurements has it."""
    found = groups(known_rows([*few, *full], NAMES), "model", "data")
    cells = [
        [_LABELS.get(name, name), *(_shown(found.get((name, data), ())) for data in _SHOWN)]
        for name in NAMES
        if any((name, data) in found for data in _SHOWN)
    ]
    return Table(["test error", *_SHOWN.values()], cells).markdown()


def _shown(group: Sequence[dict[str, Any]]) -> str:
    return with_spread(summary_line("", group)) if group else MISSING


def _choosers() -> dict[str, Model]:
    """Return models that choose: CRFs at gaps of 2 %, the others, which take longer, of 3 %."""
    crfs = [name for name in _MODELS if name.endswith("CRF")]
    others = [name for name in _MODELS if name not in crfs]
    models = fair_models(_RANGES, crfs, last_on_all=True, tol=2e-2)
    return models | fair_models(_RANGES, others, last_on_all=True, tol=3e-2)


OCR_FULL_STUDY = Study(
    "ocr-full",
    "all handwritten words: 9 folds train, or 1",
    fits=_specs,
    fit=Trained(
        ocr_split,
        models=_choosers(),
        measure=measure_words,
        measured=MEASURED,
    ),
    draw=_draw,
    report=_report,
    remarks=MEMORY,
    duration="quick 15 s, paper 25 min",
    place=8,
)
"""The study of all words, and of words that were not there in training."""
