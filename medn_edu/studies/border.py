"""The study ``border``: what pixels that say nothing cost, and which prior or loss pays least.

How it works stands at the head of ``border.md``.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from medn_edu.datasets import load_digit_words
from medn_edu.explorers.kit.panels import label_ends, letter_panels
from medn_edu.explorers.kit.style import MUTED, new_figure, save_figure, series_style, styled
from medn_edu.studies.kit.fair import (
    CHOICE_COLUMNS,
    Ranges,
    choices_text,
    choosing,
    fair_grids,
    fair_model,
    grids_text,
    measure_choice,
    shapes_text,
    split_and_validate,
)
from medn_edu.studies.kit.models import Model
from medn_edu.studies.kit.selection import CHOICE
from medn_edu.studies.kit.specs import FitSpec, Report, Row, Split, Study
from medn_edu.studies.kit.summary import (
    MISSING,
    Column,
    Mean,
    differences,
    groups,
    mean,
    mean_of,
    percent,
    plus_minus,
    read_constants,
    table,
    values,
)
from medn_edu.studies.kit.texts import Texts, counted, listed, paragraphs
from medn_edu.studies.kit.trained import Trained

_TEXTS = Texts("border.md")

MODELS = ("M3N", "LapMEDN", "L1-M3N", "epsilon-M3N", "L2-CRF", "L1-CRF")
"""Models in the order of the table."""

WIDTHS = (0, 4, 8)
"""Widths of the border, in pixels."""

N_DRAWS = 10
"""How often words, split and noise are drawn."""

N_TRAIN, N_JUDGE = 40, 60
"""Training words, and those behind them on which constants are chosen."""

RANGES = Ranges(
    l2_crf=(20, 0.2), l1_crf=(8, 0.1), m3n=(0.002, 1), l1_m3n=(0.1, 0.7), prices=(1, 10, 100)
)
"""Constants of the fair protocol, before paths are extended."""

_WARM = Ranges(RANGES.l2_crf, RANGES.l1_crf, m3n=(0.01, 4), l1_m3n=RANGES.l1_m3n)
"""The same for epsilon-M3N, whose best ``C`` grows with the temperature."""

_GRIDS = {
    name: fair_grids(_WARM if name == "epsilon-M3N" else RANGES, (name,))[name] for name in MODELS
}
_CHOOSE: dict[str, Model] = {name: fair_model(name, _GRIDS[name], tol=0.05) for name in MODELS}


# -- data -----------------------------------------------------------------------------------------


@lru_cache(maxsize=3)
def _words(width: int, draw: int) -> Any:
    return load_digit_words(border=width, random_state=draw)


def digit_split(spec: FitSpec, *, validate: bool = False) -> Split:
    """Return the digit words of a fit; its data read ``border-WIDTH``, and its fold is the draw.

    Of the training part the first 40 words train.  With ``validate`` the 60 words after them, on which
    constants are chosen, stand behind.  All 120 words of the test part test.
    """
    words = _words(width_of(spec.data), 100 * spec.seed + spec.fold)
    train = words.train[: N_TRAIN + N_JUDGE * validate]
    return Split(
        [words.data[i] for i in train],
        [words.target[i] for i in train],
        [words.data[i] for i in words.test],
        [words.target[i] for i in words.test],
    )


def width_of(data: str) -> int:
    """Return the width of the border, in pixels."""
    return int(data.partition("-")[2])


def _specs(scale: str, seed: int) -> list[FitSpec]:
    quick = scale == "quick"
    return [
        FitSpec(f"border-{width}", draw, model, choosing(model, N_TRAIN, scale), seed)
        for width in (WIDTHS[:2] if quick else WIDTHS)
        for draw in range(1 if quick else N_DRAWS)
        for model in MODELS
        if not (quick and model in ("L1-M3N", "L1-CRF"))  # which take long
    ]


def _measure(spec: FitSpec, model: Any) -> Row:
    """Note where the weights of pixels lie, how many are small, and how constants were chosen."""
    return border_weights(model.coef_, width_of(spec.data)) | measure_choice(spec, model)


_SHARES = ("border_share", "border_squares", "small_share", "border_zeros")


def border_weights(weights: np.ndarray, width: int) -> dict[str, float | None]:
    """Return shares of the pixels' weights, of which there is a square image for each digit.

    These are the border's share of the sum of absolute weights, its share of the sum of squares, the
    share of all weights that are smaller than a tenth of the largest, and the share of the border's
    weights that are exactly zero.  Without a border its shares are zero, and the last has no value.
    """
    side = round(np.sqrt(weights.shape[1]))
    sizes = np.abs(weights).reshape(-1, side, side)
    inside = np.zeros((side, side), dtype=bool)
    inside[width : side - width, width : side - width] = True
    outer = sizes[:, ~inside]
    return {
        "border_share": float(outer.sum() / sizes.sum()),
        "border_squares": float(np.sum(outer**2) / np.sum(sizes**2)),
        "small_share": float(np.mean(sizes < 0.1 * sizes.max())),
        "border_zeros": float(np.mean(outer == 0)) if width else None,
    }


# -- what comes out -------------------------------------------------------------------------------

Fits = dict[tuple[int, str], list[Row]]
"""The rows that did not fail, by width and model."""

_REFERENCE = "M3N"


def fits_of(rows: Iterable[Row]) -> Fits:
    """Return the rows of each width and model, in the order of widths and models."""
    known = [row for row in rows if row.get("error") is not None]
    return groups(
        known,
        lambda row: width_of(row["data"]),
        "model",
        order=lambda key: (key[0], MODELS.index(key[1])),
    )


def less(fits: Fits, width: int, model: str, reference: str) -> Mean:
    """Return by how much a model's errors exceed those of another one, draw by draw."""
    return mean_of(differences(fits[width, model], fits.get((width, reference), ())))


def cost(fits: Fits, width: int, model: str) -> Mean:
    """Return by how much a model errs more with a border than without, draw by draw.

    A draw has the same words, images and noise inside at every width.
    """
    return mean_of(differences(fits[width, model], fits.get((0, model), ()), by=("fold",)))


def _lines(fits: Fits) -> list[Row]:
    """Return the summary: means over draws, with half their intervals; of constants, the medians."""
    found = []
    for (width, model), rows in fits.items():
        error = mean_of(values(rows, "error"))
        line = {"border": width, "model": model, "draws": error.n}
        for name, one in {
            "error": error,
            "to_m3n": less(fits, width, model, _REFERENCE),
            "to_lapmedn": less(fits, width, model, "LapMEDN"),
            "cost": cost(fits, width, model),
        }.items():
            line |= {name: one.value, f"{name}_half": one.half}
        shares = ("train_error", *_SHARES)
        line |= {name: mean(rows, name) for name in shares}
        chosen = [dict(read_constants(row["chosen"])) for row in rows]
        names = dict.fromkeys(name for constants in chosen for name in constants)
        medians = {name: float(np.median([c[name] for c in chosen])) for name in names}
        found.append(line | {name: medians.get(name) for name in _CONSTANTS})
    return found


# -- figure ---------------------------------------------------------------------------------------


def _draw(rows: Sequence[Row], file: Path) -> None:
    """Draw errors, differences to M3N and the border's share of the weights against its width."""
    fits = fits_of(rows)
    panels: tuple[tuple[str, Callable[[int, str], Mean]], ...] = (
        ("test error (%)", lambda width, name: mean_of(values(fits[width, name], "error"))),
        ("above M3N (percentage points)", lambda width, name: less(fits, width, name, _REFERENCE)),
        (
            "weight on the border (%)",
            lambda width, name: mean_of(values(fits[width, name], "border_share")),
        ),
    )
    figure = new_figure(11.5, 4.2)
    with styled():
        axes = figure.subplots(1, len(panels))
        for ax, (label, of) in zip(axes, panels, strict=True):
            _draw_panel(ax, fits, of)
            ax.set_title(label)
        axes[1].axhline(0, color=MUTED, linewidth=0.8)
        axes[1].yaxis.set_major_locator(MaxNLocator(6, integer=True))
        axes[0].set_ylim(bottom=0)
        widths = np.linspace(0, max(width for width, _ in fits), 50)
        share = 100 * (1 - 64 / (8 + 2 * widths) ** 2)
        axes[2].plot(widths, share, color=MUTED, linewidth=1, label="pixels on it", zorder=0.5)
        letter_panels(axes)
        label_ends(*axes)
    save_figure(figure, file)


def _draw_panel(ax: Axes, fits: Fits, of: Callable[[int, str], Mean]) -> None:
    widths = sorted({width for width, _ in fits})
    names = [name for name in MODELS if any(model == name for _, model in fits)]
    for k, name in enumerate(names):
        at = [width for width in widths if (width, name) in fits]
        found = [of(width, name) for width in at]
        y, half = (
            100 * np.array(some)
            for some in zip(*((o.value, o.half or 0.0) for o in found), strict=True)
        )
        x = np.array(at) + 0.1 * (k - (len(names) - 1) / 2)  # so that intervals stand apart
        ax.errorbar(x, y, yerr=half, label=name, elinewidth=1.2, **series_style(name))
    ax.set_xticks(widths)
    ax.set_xlabel("border (pixels)")
    ax.grid(axis="y")


# -- table and caption ----------------------------------------------------------------------------

_CONSTANTS = ("C", "lam", "epsilon")
_COLUMNS = (
    "border", "model", "draws", "error", "error_half", "to_m3n", "to_m3n_half", "to_lapmedn",
    "to_lapmedn_half", "cost", "cost_half", "train_error", *_SHARES, *_CONSTANTS,
)  # fmt: skip


def _points(name: str, empty: Callable[[Row], bool]) -> Callable[[Row], str]:
    """Return what writes a difference in percentage points, with its interval."""

    def text(line: Row) -> str:
        if empty(line):
            return MISSING
        return plus_minus(line[name], line[f"{name}_half"], ".1f", times=100, sign="+")

    return text


def _constants(line: Row) -> str:
    return ", ".join(
        f"{name} = {float(f'{line[name]:.2g}'):,g}" for name in _CONSTANTS if line[name] is not None
    )


_TABLE = (
    Column("border", "border", "d", right=True),
    Column("model", "model"),
    Column(
        "test error",
        lambda line: plus_minus(line["error"], line["error_half"], ".1f", times=100, unit=" %"),
        right=True,
    ),
    Column("to M3N", _points("to_m3n", lambda line: line["model"] == "M3N"), right=True),
    Column(
        "to LapMEDN", _points("to_lapmedn", lambda line: line["model"] == "LapMEDN"), right=True
    ),
    Column("to no border", _points("cost", lambda line: not line["border"]), right=True),
    Column("training error", "train_error", percent(), right=True),
    Column("on the border", "border_share", percent(".0f"), right=True),
    Column("small", "small_share", percent(".0f"), right=True),
    Column("border zeros", "border_zeros", percent(".0f"), right=True),
    Column("constants", _constants),
)


def _report(rows: Sequence[Row], scale: str) -> Report:
    fits = fits_of(rows)
    lines = _lines(fits)
    shown = table(_TABLE, lines)
    n = counted(max(map(len, fits.values())), "draw")
    warm, cold = "epsilon-M3N", [name for name in MODELS if name != "epsilon-M3N"]
    grids = "; ".join(grids_text({name: _GRIDS[name] for name in some}) for some in (cold, [warm]))
    about = _TEXTS("about", grids=grids, choice=CHOICE[scale], choices=choices_text(rows))
    caption = paragraphs(
        _TEXTS("figure", n=n), _answers(fits), about, _shapes(fits), _TEXTS("covers")
    )
    key = _TEXTS("key")
    return Report(
        _COLUMNS,
        lines,
        f"{shown.text()}\n\n{paragraphs(key, width=96)}",
        f"{caption}\n\n{shown.markdown()}\n{paragraphs(key)}\n",
    )


def _answers(fits: Fits) -> str:
    """Say for each width which models err less or more than M3N, and what the widest border costs."""
    widths = list(dict.fromkeys(width for width, _ in fits))
    sentences = []
    for width in widths:
        reference = mean_of(values(fits[width, _REFERENCE], "error"))
        if reference.half is None:
            continue
        where = _TEXTS("with", width=width) if width else _TEXTS("without")
        sentences.append(_TEXTS("answer", where=where, error=100 * reference.value))
        found = {m: less(fits, width, m, _REFERENCE) for m in MODELS if m != _REFERENCE}
        for name, sign in (("less", -1), ("more", 1), ("unsure", 0)):
            some = [_named(model, one) for model, one in found.items() if one.sign == sign]
            if some:
                sentences.append(_TEXTS(name, models=listed(some)))
    if not sentences:
        return ""
    costs = {model: cost(fits, widths[-1], model) for model in MODELS}
    paid = listed([_named(name, one) for name, one in costs.items()])
    answer = "  ".join([_TEXTS("answers"), *sentences])
    return f"{answer}\n\n{_TEXTS('cost', width=widths[-1], models=paid)}"


def _named(name: str, one: Mean) -> str:
    return f"{name} {plus_minus(one.value, one.half, '.1f', times=100, sign='+')}"


def _shapes(fits: Fits) -> str:
    """Say how often each shape was chosen, width by width."""
    by_width = groups(
        (row for rows in fits.values() for row in rows), lambda row: width_of(row["data"])
    )
    return "  ".join(f"Border {width}: {shapes_text(rows)}" for width, rows in by_width.items())


BORDER = Study(
    "border",
    "pixels that say nothing, and who pays least",
    fits=_specs,
    fit=Trained(
        split_and_validate(digit_split),
        models=_CHOOSE,
        measure=_measure,
        measured=(*_SHARES, *CHOICE_COLUMNS),
    ),
    draw=_draw,
    report=_report,
    duration="quick 10 s, paper 7 min",
    generated=True,
    place=13,
)
"""The study."""
