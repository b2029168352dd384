"""The study ``ocr``: few OCR words to train on (MEDN Fig. 7, L1-M3N Fig. 4, LapM3N Fig. 4).

How it works, and what the paper leaves open, stands at the head of ``ocr.md``.
"""

from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from medn_edu.estimators import L1M3N
from medn_edu.explorers import INK, MUTED, new_figure, save_figure, series_style, styled
from medn_edu.intervals import deviation
from medn_edu.studies.em import l1_em
from medn_edu.studies.kit.fair import (
    CHOICE_COLUMNS,
    NAMES,
    SIX_LAM,
    Ranges,
    choices_text,
    choosing,
    ends_text,
    fair_grids,
    fair_model,
    fair_models,
    grids_text,
    measure_choice,
    shapes_text,
    six_lam_crfs,
    split_and_validate,
)
from medn_edu.studies.kit.figures import draw_means, name_row
from medn_edu.studies.kit.models import Model
from medn_edu.studies.kit.selection import CHOICE, TRIED
from medn_edu.studies.kit.selection import Path as Constants
from medn_edu.studies.kit.specs import FitSpec, Report, Study
from medn_edu.studies.kit.splits import FOLDS, ocr_split, word_errors
from medn_edu.studies.kit.summary import (
    Mean,
    crossed,
    differences,
    groups,
    largest,
    mean,
    mean_of,
    plus_minus,
    scores,
    values,
)
from medn_edu.studies.kit.texts import Texts, bullets, paragraphs
from medn_edu.studies.kit.trained import Trained
from medn_edu.studies.stopped import MEAN, PASSES, printed_models, steps, stopped_name

_TEXTS = Texts("ocr.md")
MEMORY = _TEXTS("memory")
"""What readers should know of these data."""


_BETAS = {100: 4.0, 150: 4.0, 200: 2.0, 250: 2.0}  # the papers', for each number of words
_LAM = 36.0  # the papers', of LapMEDN
_RADIUS = 289.0  # of L1-M3N's ball, the middle of those of MEDN Fig. 9
_EM, _EM_SHORT = "L1-M3N EM", "L1-M3N EM, 3 rounds"  # the paper tells no rounds for words
_EM_PATHS = tuple(  # C / (2 sqrt(lam)), the C of the L1-M3N that EM goes to, from 0.05 to 0.4
    Constants("lam", (100 * C**2, 25 * C**2, 6.25 * C**2, 1.5625 * C**2), (("C", C),))
    for C in (1.0, 10.0)
)
_TOL = 5e-2  # gaps while models choose
_REFERENCE = "M3N"  # whose errors are subtracted

RANGES = Ranges(l2_crf=(30, 0.1), l1_crf=(6, 0.06), m3n=(0.01, 3), l1_m3n=(0.1, 1))
"""Constants of the fair protocol, before paths are extended."""


_BALL = {
    stopped_name("L1-M3N", n): Model(
        stopped_name("L1-M3N", n), partial(L1M3N, **steps(n)), "on a ball, stopped early"
    )
    for n in PASSES
}


def _em(name: str, n_rounds: int) -> Model:
    summary = f"adaptive M3N, {n_rounds} quadratic programs"
    em = {name: Model(name, partial(l1_em, n_iterations=n_rounds), summary)}
    return fair_model(name, _EM_PATHS, em, tol=_TOL)


PRINTED = {
    **printed_models("M3N"),
    **printed_models("LapMEDN"),
    **_BALL,
    **{name: _em(name, n) for name, n in ((_EM, 15), (_EM_SHORT, 3))},
    **six_lam_crfs(tol=_TOL),
}
"""The readings of the papers.  Two of them choose: EM, of which they tell no constant, and the CRFs."""

# At quick scale they would take too long.
_SLOW = (
    "L1-CRF", "elastic CRF", "L1-M3N", "elastic M3N", "LapMEDN variational", "LapMEDN",
    "LapMEDN at its optimum", "LapMEDN at its optimum, mean slack", _EM, _EM_SHORT,
    "L1-CRF, six lam",
    *(name for name in PRINTED if "60 " in name or "200 " in name),
)  # fmt: skip


def _specs(scale: str, seed: int) -> list[FitSpec]:
    quick = scale == "quick"
    sizes, folds = ((100,), range(2)) if quick else (tuple(_BETAS), FOLDS)
    names = [name for name in (*NAMES, *PRINTED) if not (quick and name in _SLOW)]
    return [
        FitSpec(f"ocr-{n}", fold, name, _parameters(name, n, scale), seed)
        for n in sizes
        for fold in folds
        for name in names
    ]


def _parameters(name: str, n_words: int, scale: str) -> tuple[tuple[str, float], ...]:
    """Return what a fit is given."""
    if name in (*NAMES, _EM, _EM_SHORT):
        return choosing(name, n_words, scale)
    if name in SIX_LAM:
        return TRIED[scale]
    beta = ("beta", _BETAS[n_words])
    if name in _BALL:
        return (beta, ("radius", _RADIUS))
    return (beta, ("lam", _LAM)) if name.startswith("LapMEDN") else (beta,)


def measure_words(spec: FitSpec, model: Any) -> dict[str, Any]:
    """Note how constants were chosen, and the errors word by word."""
    return measure_choice(spec, model) | word_errors(spec, model)


MEASURED = (*CHOICE_COLUMNS, "word_errors")
"""What `measure_words` fills."""


def known_rows(rows: Iterable[dict[str, Any]], models: Sequence[str]) -> list[dict[str, Any]]:
    """Return the rows of some models, in their order."""
    known = [row for row in rows if row["model"] in models and row.get("error") is not None]
    return sorted(known, key=lambda row: models.index(row["model"]))


# -- the figure -----------------------------------------------------------------------------------


def _draw(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Draw errors against passes with the papers' constants, and MEDN Fig. 7 with chosen ones."""
    fair, printed = known_rows(rows, NAMES), groups(known_rows(rows, tuple(PRINTED)), "n_train")
    of_size = groups(fair, "n_train")
    known = {row["model"] for row in fair}
    names = [name for name in NAMES if name in known]
    compared = [name for name in names if name not in (_REFERENCE, "CRF")]  # CRF is far above
    sizes = sorted({*printed, *of_size})
    figure = new_figure(9.6, 9.4)
    with styled():
        share: dict[str, Any] = {"sharex": "row", "sharey": "row", "squeeze": False}
        axes = figure.subplots(3, len(sizes), height_ratios=[1, 1, 0.9], **share)
        for (upper, middle, lower), n_words in zip(axes.T, sizes, strict=True):
            _draw_passes(upper, printed.get(n_words, ()), of_size.get(n_words, ()))
            by_model = groups(of_size.get(n_words, ()), "model")
            draw_means(middle, {name: _in_percent(by_model.get(name, ())) for name in names})
            draw_means(lower, {name: _less(by_model, name) for name in compared})
            lower.axvline(0, color=INK, linewidth=1, zorder=0.5)
            upper.set_xlabel("sub-gradient passes")
            middle.set_xlabel("test error (%)")
            lower.set_xlabel(f"above {_REFERENCE} (points)")
            upper.set_title(f"{n_words} training words", weight="normal", loc="center", fontsize=10)
        axes[0, 0].set_ylabel("test error (% of labels)")
        for letter, title, ax in zip("abc", _ROWS, axes[:, 0], strict=True):
            name_row(ax, f"({letter}) {title}", above_titles=letter == "a")
        handles = axes[0, 0].get_legend_handles_labels()
        figure.legend(*handles, loc="outside upper center", ncols=4)
    save_figure(figure, path)


_ROWS = (
    "The papers' constants",
    "Every model chooses its constants",
    f"The same, minus {_REFERENCE} on the same fold",
)


def _in_percent(rows: Sequence[dict[str, Any]]) -> Mean:
    """Return a mean error in per cent, with its interval by the bootstrap over folds and words."""
    return mean_of(100 * scores(rows))


def _less(by_model: dict[str, list[Any]], name: str) -> Mean:
    """Return the difference to M3N in points, with its interval likewise."""
    mine, reference = by_model.get(name, ()), by_model.get(_REFERENCE, ())
    return mean_of(100 * differences(mine, reference))


def differences_to_m3n(rows: Sequence[dict[str, Any]]) -> dict[tuple[str, int], Any]:
    """Return by how many points models err more than M3N, by number of words.

    Intervals are by the bootstrap over folds and words, which the ledger has.
    """
    from medn_edu.studies.claims.scores import mean_interval, paired, scores_of  # it reads studies

    scores = scores_of(rows)
    found = {}
    for model in scores:
        for setting, units in scores[model].items():
            less, _ = paired(scores.get(_REFERENCE, {}), {setting: units})
            interval = mean_interval(list(less.values()))
            if model != _REFERENCE and interval is not None:
                found[model, int(setting[1])] = interval
    return found


def _draw_passes(
    ax: Any, printed: Sequence[dict[str, Any]], fair: Sequence[dict[str, Any]]
) -> None:
    """Draw mean errors after so many passes, and at the optimum."""
    ends = [*(f"{n} passes" for n in PASSES), "at its optimum"]
    of_model = groups(printed, "model")
    for base in ("M3N", "LapMEDN", "L1-M3N"):
        for ending in ("", MEAN):
            found = [of_model.get(f"{base} {end}{ending}", ()) for end in ends]
            errors = [mean_of(100 * values(group, "error")).value for group in found]
            style = series_style(base + ending)
            if np.isfinite(errors).any():
                ax.plot(range(len(PASSES)), errors[:-1], label=base + ending, **style)
                ax.plot(len(PASSES), errors[-1], **style)
    for name, size in ((_EM, 8), (_EM_SHORT, 4)):
        em = mean_of(100 * values(of_model.get(name, ()), "error")).value
        style = {**series_style(_EM), "linestyle": "none", "markersize": size}
        ax.plot(len(PASSES), em, label=name, **style)
    chosen = mean_of(100 * values([row for row in fair if row["model"] == _REFERENCE], "error"))
    ax.axhline(chosen.value, color=MUTED, linewidth=1, label=f"{_REFERENCE} of (b)")
    ax.set_xticks(range(len(ends)), [*map(str, PASSES), "opt."])
    ax.yaxis.set_major_formatter(lambda value, _: f"{value:.3g} %")
    ax.grid(axis="y")


# -- the report -----------------------------------------------------------------------------------

_COLUMNS = (
    "constants", "model", "n_train", "fits", "error", "error_deviation", "to_m3n", "low", "high",
    "train_error", "largest_gap", "n_extended", "at_end",
)  # fmt: skip


def _report(rows: Sequence[dict[str, Any]], scale: str) -> Report:
    """Sum ``ocr`` up."""
    fair = known_rows(rows, NAMES)
    printed = known_rows(rows, tuple(PRINTED))
    less = differences_to_m3n([*fair, *printed])
    lines = []
    for kind, part in (("chosen", fair), ("papers'", printed)):
        for (model, n_words), group in groups(part, "model", "n_train").items():
            line = {"constants": kind, "n_train": n_words, **summary_line(model, group)}
            if (model, n_words) in less:
                points = less[model, n_words]
                line |= {"to_m3n": points.value, "low": points.low, "high": points.high}
            lines.append(line)
    errors = crossed(lines, ("constants", "model"), "n_train", with_spread, "{} words")
    to_m3n = crossed(
        [line for line in lines if "to_m3n" in line],
        ("constants", "model"),
        "n_train",
        lambda line: "{to_m3n:+.1f} ({low:+.1f} to {high:+.1f})".format(**line),
        "{} words",
    )
    said = bullets(_best(lines))
    caption = "\n\n".join(
        [
            paragraphs(*_caption(rows, max((line["fits"] for line in lines), default=0), scale)),
            said,
            _TEXTS("errors"),
            f"{errors.markdown()}\n{_TEXTS('differences')}",
            to_m3n.markdown(),
        ]
    )
    return Report(_COLUMNS, lines, f"{errors.text()}\n\n{said}", caption)


def summary_line(model: str, group: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Sum up the fits of one model to one kind of data."""
    errors = values(group, "error")
    return {
        "model": model,
        "fits": len(errors),
        "error": float(errors.mean()),
        "error_deviation": deviation(errors),
        "train_error": mean(group, "train_error"),
        "largest_gap": largest(group, "relative_gap"),
        "n_extended": int(np.count_nonzero(values(group, "n_extended"))),
        "at_end": int(np.count_nonzero(values(group, "at_end"))),
    }


def with_spread(line: dict[str, Any]) -> str:
    """Return an error for a table, with the deviation of several."""
    return plus_minus(line["error"], line["error_deviation"])


def _caption(rows: Sequence[dict[str, Any]], n_fits: int, scale: str) -> tuple[str, ...]:
    """Return the paragraphs above the tables; the first one explains the figure by itself."""
    sizes = {beta: [str(n) for n in _BETAS if _BETAS[n] == beta] for beta in _BETAS.values()}
    betas = [f"{beta:g} for {' and '.join(some)} words" for beta, some in sizes.items()]
    fair = known_rows(rows, NAMES)
    return (
        _TEXTS("caption", n_fits=n_fits),
        _TEXTS(
            "chances",
            grids=grids_text(fair_grids(RANGES, NAMES)),
            choice=CHOICE[scale],
            choices=choices_text(fair),
        ),
        _TEXTS(
            "papers",
            lam=_LAM,
            betas=" and ".join(betas),
            radius=_RADIUS,
            em=grids_text({_EM: _EM_PATHS}),
            ends=ends_text(rows),
        ),
        _TEXTS("chosen"),
        shapes_text(fair),
    )


def _best(lines: Sequence[dict[str, Any]]) -> list[str]:
    """Say who errs least, with given constants and with chosen ones."""
    texts = []
    for kind, mine in groups(lines, "constants").items():
        cells = groups(mine, "n_train", order=lambda n_words: n_words)
        best = [
            f"{min(group, key=lambda line: line['error'])['model']} ({n} words)"
            for n, group in cells.items()
        ]
        texts.append(_TEXTS("best", kind=kind, models=", ".join(best)))
    return texts


OCR_STUDY = Study(
    "ocr",
    "handwritten words: 100 to 250 train",
    fits=_specs,
    fit=Trained(
        split_and_validate(ocr_split),
        models={**fair_models(RANGES, NAMES, tol=_TOL), **PRINTED},
        measure=measure_words,
        measured=MEASURED,
    ),
    draw=_draw,
    report=_report,
    remarks=MEMORY,
    duration="quick 15 s, paper 55 min",
    shows="MEDN 7, L1-M3N 4",
    place=7,
)
"""The study of few words."""
