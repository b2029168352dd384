"""The study ``web-extraction``: name, image, price and description of products (MEDN 7.4, Fig. 10).

How it works, and what the papers leave open, stands at the head of ``web_extraction.md``.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from medn_edu.datasets.pages import VERSION
from medn_edu.estimators import L1M3N
from medn_edu.explorers.kit import palette
from medn_edu.explorers.kit.panels import label_ends, letter_panels
from medn_edu.explorers.kit.style import INK, MUTED, new_figure, save_figure, series_style, styled
from medn_edu.intervals import half_interval
from medn_edu.studies.kit.fair import (
    CHOICE_COLUMNS,
    NAMES,
    Ranges,
    choices_text,
    choosing,
    ending_after,
    fair_grids,
    fair_model,
    fair_paths,
    grids_text,
    measure_choice,
    once,
    shapes_text,
    split_and_validate,
)
from medn_edu.studies.kit.figures import draw_grouped_errors
from medn_edu.studies.kit.models import Model
from medn_edu.studies.kit.selection import CHOICE
from medn_edu.studies.kit.specs import FitSpec, Report, Row, Study
from medn_edu.studies.kit.summary import (
    Column,
    Curve,
    curve,
    differences,
    groups,
    largest,
    mean,
    percent,
    plus_minus,
    table,
    values,
)
from medn_edu.studies.kit.texts import Texts, bullets, counted, paragraphs
from medn_edu.studies.kit.trained import Trained
from medn_edu.studies.kit.web import (
    FLAT,
    N_DEALT,
    N_JUDGING,
    N_TEST,
    N_TRAIN,
    PER_LEAF,
    SHARES,
    TOLD,
    n_drawn,
    page_split,
    structure_of,
)
from medn_edu.studies.l1_table import ROUNDS
from medn_edu.text.pages import ATTRIBUTES, LEAF_LABELS

_TEXTS = Texts("web_extraction.md")

CHOOSES_AT = 5
"""The share with which each draw chooses its constants; it keeps them with all others."""

LEFT_OUT_AT = 40
"""The share with which templates are left out."""

TOLD_SHARES = (CHOOSES_AT, LEFT_OUT_AT)
"""The shares with which chains are told of ancestors."""

N_DRAWS = {"web": 10, "templates": N_DEALT}
"""Draws of training records, and parts of templates that are left out."""

RANGES = Ranges(
    l2_crf=(10, 0.01), l1_crf=(3, 0.03), m3n=(0.003, 3), l1_m3n=(0.03, 3), prices=(0.1, 1, 10)
)
"""Constants of the fair protocol, before paths are extended."""

MOST_PASSES = 100
"""Passes after which fits of LapMEDN variational end; exact ones and CRF may take twice as many."""

_COARSE: dict[str, Any] = {"tol": 0.1, "max_iter": 30}  # of fits that only judge constants
_GAP = 2e-2  # of margin models
_GAPS = {"CRF": 5e-5, "L2-CRF": 1e-2, "elastic CRF": 1e-2, "L1-CRF": 0.1, "L1-M3N": 5e-2}
_REFERENCE = "M3N"  # whose scores are subtracted
_KEYS = ("name", "image", "price")  # what block instance accuracy asks for


# -- models ---------------------------------------------------------------------------------------


def _build(name: str, **constants: float) -> Any:
    """Return a model of the fair protocol, which is trained to the gap of this study."""
    model = ending_after(MOST_PASSES)[name].build(**constants)
    if name.endswith("-CRF") or name == "elastic CRF":
        # Chains have few features, so the default would be L-BFGS, which takes ten times as long here
        # when there is an L1 norm.
        model.set_params(solver="online_exponentiated_gradient")
    if name in ("CRF", "LapMEDN"):
        model.set_params(max_iter=2 * MOST_PASSES)
    return model.set_params(tol=_GAPS.get(name, _GAP))


_GIVEN = {
    name: replace(model, build=partial(_build, name))
    for name, model in ending_after(MOST_PASSES).items()
}
_BASES = {
    **{name: name for name in NAMES},
    **{f"{name}{FLAT}": name for name in NAMES},
    **{f"{name}{FLAT}{TOLD}": name for name in NAMES},
    PER_LEAF: "L2-CRF",
    f"{PER_LEAF}{TOLD}": "L2-CRF",
}
ORDER = tuple(_BASES)
"""All models of the comparison, in the order of tables."""
_ALONE = (PER_LEAF, f"{PER_LEAF}{TOLD}")


def _tree_of(name: str) -> str:
    """Return the model on trees that a model on chains is compared with."""
    return name.removesuffix(TOLD).removesuffix(FLAT)


def _model(name: str, base: str) -> Model:
    """Return a model that chooses its constants, or is trained with those that it is given."""
    given = replace(_GIVEN[base], name=name)
    paths = fair_paths(base, RANGES)
    if not paths:
        return given
    return once(name, given, fair_model(base, paths, _GIVEN, **_COARSE, judged=LEAF_LABELS))


# Those of the study ``l1m3n-algorithms``, which no gap ends, and what cutting planes need more.
_ONLINE = partial(L1M3N, solver="online_subgradient", beta=10.0, max_iter=20, tol=1e-12, verbose=0)
_PLANES = partial(L1M3N, solver="cutting_plane", max_iter=ROUNDS, tol=1e-3, verbose=0)
_TIMED = {
    "online sub-gradient": ("radius", (50.0, 200.0, 800.0)),
    "cutting plane": ("C", (0.1, 0.3)),
}
_TIMES = "times-10"

_MODELS = {
    **{name: _model(name, base) for name, base in _BASES.items()},
    "online sub-gradient": Model("online sub-gradient", _ONLINE, "L1-M3N by sub-gradients"),
    "cutting plane": Model("cutting plane", _PLANES, "L1-M3N by linear programs"),
}


# -- fits -----------------------------------------------------------------------------------------

_QUICK = ("L2-CRF", "M3N", f"L2-CRF{FLAT}", f"M3N{FLAT}", f"L1-M3N{FLAT}", PER_LEAF)


def _specs(scale: str, seed: int) -> list[FitSpec]:
    quick = scale == "quick"
    shares = {"web": SHARES, "templates": (CHOOSES_AT, LEFT_OUT_AT)}
    specs = []
    for kind, tried in shares.items():
        for fold in range(1 + (kind == "web") if quick else N_DRAWS[kind]):
            for name in _QUICK if quick else ORDER:
                first = FitSpec(
                    f"{kind}-{CHOOSES_AT}", fold, name,
                    choosing(_BASES[name], n_drawn(CHOOSES_AT), scale), seed,
                )  # fmt: skip
                by = first.key if first.parameters else ""
                more = tried[1 : 1 + (kind == "web")] if quick else tried[1:]
                if structure_of(name) == f"{FLAT}{TOLD}":
                    more = tuple(n for n in more if n in TOLD_SHARES)
                specs += [first, *(FitSpec(f"{kind}-{n}", fold, name, (), seed, by) for n in more)]
    specs += [
        FitSpec(_TIMES, fold, name, ((constant, value),), seed)
        for fold in range(0 if quick else 3)
        for name, (constant, tried) in _TIMED.items()
        for value in tried
    ]
    # One kind of samples after the other, as they are kept for those that follow each other.
    return sorted(specs, key=lambda spec: (spec.data, spec.fold, structure_of(spec.model)))


# -- measured -------------------------------------------------------------------------------------

_MEASURED = (
    "f1", "block", *(f"f1_{attribute}" for attribute in ATTRIBUTES), "n_leaves", *CHOICE_COLUMNS,
)  # fmt: skip


def _measure(spec: FitSpec, model: Any) -> Row:
    """Measure leaves only: that is what trees and chains have in common."""
    data = page_split(spec)
    scores = scores_of_leaves(data.y_test, model.predict(data.X_test))
    trained = scores_of_leaves(data.y_train, model.predict(data.X_train))
    return {**scores, "train_error": trained["error"], **measure_choice(spec, model)}


def scores_of_leaves(truth: Sequence[Any], found: Sequence[Any]) -> Row:
    """Return F1 of each attribute, their mean, block instance accuracy, and the error.

    F1 counts leaves.  A block, which is a record, is right if the leaves with the labels name, image
    and price are exactly those that should have them.
    """
    record = np.repeat(np.arange(len(truth)), list(map(len, truth)))
    right, said = np.concatenate(list(truth)), np.concatenate(list(found))
    leaf = np.isin(right, LEAF_LABELS)
    record, right, said = record[leaf], right[leaf], said[leaf]
    f1 = {name: _f1(right == name, said == name) for name in ATTRIBUTES}
    wrong = right != said
    spoils = wrong & (np.isin(right, _KEYS) | np.isin(said, _KEYS))
    return {
        "f1": float(np.mean(list(f1.values()))),
        "block": 1 - len(np.unique(record[spoils])) / len(truth),
        **{f"f1_{name}": value for name, value in f1.items()},
        "error": float(wrong.mean()),
        "n_leaves": len(right),
    }


def _f1(right: np.ndarray, said: np.ndarray) -> float:
    """Return the harmonic mean of precision and recall; 1 where there is nothing to find or say."""
    both = right.sum() + said.sum()
    return float(2 * (right & said).sum() / both) if both else 1.0


# -- what comes out -------------------------------------------------------------------------------

_SCORES = {"f1": "average F1", "block": "block instance accuracy"}


def overlap_of(data: str) -> float:
    """Return by how much intervals of draws must be longer, as `half_interval` takes it.

    Two draws of a share s of the records have that share of them in common, and so their scores
    correlate by s, as far as each record adds its own part to a score.  Then the mean of n draws varies
    by 1/n + s / (1 - s) times what single draws vary around it.  Where templates are left out it is
    the templates that draws have in common, as folds of a cross-validation have.
    """
    kind, _, share = data.partition("-")
    if kind == "templates":
        return 1 / (N_DEALT - 2)
    return int(share) / (100 - int(share))


def lines_of(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """Return a line for each kind of draw, share and model: means, and differences on the same draw.

    Trees are compared with M3N's trees, chains with the same model's trees.
    """
    rows = [row for row in rows if row["model"] in ORDER and row.get("f1") is not None]
    found = groups(rows, "data", "model", order=lambda key: (*_place(key[0]), ORDER.index(key[1])))
    lines = []
    for (data, name), group in found.items():
        against = _tree_of(name) if FLAT in name else _REFERENCE
        line: dict[str, Any] = {
            "data": data,
            "n_train": round(float(values(group, "n_train").mean())),
            "model": name,
            "draws": len(group),
            "against": against if name != against and (data, against) in found else None,
        }
        for score in (*_SCORES, "error"):
            line[score] = mean(group, score)
            line[f"{score}_interval"] = _half(values(group, score), data)
            less = found[data, against] if line["against"] else []
            more = differences(group, less, score)
            line[f"{score}_more"] = float(np.mean(more)) if len(more) else None
            line[f"{score}_more_interval"] = _half(more, data) if len(more) else None
        for attribute in ATTRIBUTES:
            line[f"f1_{attribute}"] = mean(group, f"f1_{attribute}")
        line["largest_gap"] = largest(group, "relative_gap")
        line["n_nonzero"], line["n_weights"] = mean(group, "n_nonzero"), mean(group, "n_weights")
        lines.append(line)
    return lines


def _half(found: Any, data: str) -> float | None:
    return half_interval(found, overlap=overlap_of(data)) if len(found) > 1 else None


def _place(data: str) -> tuple[bool, int]:
    """Draws of records come first, small ones before large ones."""
    kind, _, share = data.partition("-")
    return kind != "web", int(share)


# -- figures --------------------------------------------------------------------------------------


def _curves(lines: Iterable[Mapping[str, Any]], column: str) -> list[Curve]:
    """Return a curve for each model, with half the interval where a deviation would stand."""
    return [
        replace(
            curve(name, group, "n_train", column),
            deviation=np.array([line[f"{column}_interval"] or 0.0 for line in group]),
            n=np.array([line["draws"] for line in group]),
        )
        for name, group in groups((x for x in lines if x[column] is not None), "model").items()
    ]


def _draw_scores(rows: Sequence[Row], path: Path) -> None:
    """Draw MEDN Fig. 10: both scores against what trains, and what is left after M3N's."""
    lines = [line for line in lines_of(rows) if line["data"].startswith("web")]
    trees = [line for line in lines if line["model"] in NAMES]
    named = [line for line in lines if line["model"] in (_REFERENCE, *_ALONE)]
    figure = new_figure(12.5, 8.2)
    with styled():
        axes = figure.subplots(2, len(_SCORES), sharex=True)
        for (above, below), (score, title) in zip(axes.T, _SCORES.items(), strict=True):
            above.set_title(title[:1].upper() + title[1:])
            above.set_ylabel(title)
            _draw_range(above, _curves(trees, score))
            _draw_lines(above, _curves(named, score))
            below.set_title("The same, minus that of M3N")
            draw_grouped_errors(
                below, _curves(trees, f"{score}_more"), unit="records", reference=_REFERENCE
            )
        letter_panels(axes.flat)
        n = max(line["draws"] for line in lines)
        figure.supxlabel(_TEXTS("note", draws=counted(n, "draw")), fontsize=9, color=MUTED)
        label_ends(*axes.flat)
    save_figure(figure, path)


def _draw_range(ax: Axes, curves: Sequence[Curve]) -> None:
    """Draw between which ends all models on trees lie: their curves would cover each other."""
    sizes = sorted({int(n) for one in curves for n in one.x})
    means = [{int(n): 100 * m for n, m in zip(one.x, one.mean, strict=True)} for one in curves]
    at = [[of[n] for of in means if n in of] for n in sizes]
    ax.fill_between(range(len(sizes)), list(map(min, at)), list(map(max, at)), color=palette.SHADE)
    for name, end in (("best on trees", max), ("worst on trees", min)):
        ax.plot(
            range(len(sizes)),
            list(map(end, at)),
            color=MUTED,
            linestyle="-",
            linewidth=1,
            label=name,
        )


def _draw_lines(ax: Axes, curves: Sequence[Curve]) -> None:
    """Draw scores in per cent, each size of the training part at the same distance from the next."""
    sizes = sorted({int(n) for one in curves for n in one.x})
    for one in curves:
        style = series_style(_style_name(one.name))
        places = [sizes.index(int(n)) for n in one.x]
        ax.plot(places, 100 * one.mean, label=one.name, markersize=5, linewidth=1.5, **style)
    ax.yaxis.set_major_formatter(lambda value, _: f"{value:.4g} %")
    ax.grid(axis="y")


def _style_name(name: str) -> str:
    return name.replace(FLAT, "").replace(PER_LEAF, "per letter")


def _draw_trees(rows: Sequence[Row], path: Path) -> None:
    """Draw what trees have over chains, and how all do on new templates, with as many records."""
    lines = {(line["data"], line["model"]): line for line in lines_of(rows)}
    new = max((key for key, _ in lines), key=_place)
    share = new.partition("-")[2]
    alike = f"web-{share}"
    names = [name for name in (*NAMES, *_ALONE) if (new, name) in lines]
    figure = new_figure(13.5, 1.9 + 0.42 * len(names))
    with styled():
        *gains, last = figure.subplots(1, len(_SCORES) + 1, sharey=True)
        for ax, (score, title) in zip(gains, _SCORES.items(), strict=True):
            for y, name in enumerate(names):
                for shift, ending in ((-0.15, ""), (0.15, TOLD)):
                    if (line := lines.get((alike, f"{name}{FLAT}{ending}"))) is not None:
                        _draw_gain(ax, y + shift, line, score)
            ax.axvline(0, color=INK, linewidth=1)
            ax.set_title(title)
            ax.set_xlabel("points more by trees than by chains")
        for y, name in enumerate(names):
            for shift, ending in ((0, ""), (0.25, f"{FLAT}{TOLD}")):
                if (line := lines.get((new, f"{name}{ending}"))) is not None:
                    _draw_new(last, y + shift, line, lines.get((alike, f"{name}{ending}")))
        last.set_xlim(left=0)
        last.set_title("templates that did not train")
        last.set_xlabel("block instance accuracy")
        last.xaxis.set_major_formatter(lambda value, _: f"{value:.3g} %")
        gains[0].set_yticks(range(len(names)), names)
        gains[0].set_ylim(len(names) - 0.5, -0.5)
        for ax in (*gains, last):
            ax.grid(axis="x")
            ax.tick_params(axis="y", length=0)
        letter_panels((*gains, last))
        figure.supxlabel(_TEXTS("trees-note", share=share), fontsize=9, color=MUTED)
    save_figure(figure, path)


def _draw_gain(ax: Axes, y: float, line: Mapping[str, Any], score: str) -> None:
    """Draw by how much trees exceed chains; lines hold how much chains exceed trees."""
    more, half = line[f"{score}_more"], line[f"{score}_more_interval"]
    if more is not None:
        style = {**series_style(_style_name(line["model"])), "linestyle": "none"}
        ax.errorbar(-100 * more, y, xerr=half and 100 * half, elinewidth=1.3, **style)


def _draw_new(ax: Axes, y: float, line: Mapping[str, Any], alike: Mapping[str, Any] | None) -> None:
    """Draw a score on new templates, and as a short line that on the templates that trained."""
    style = {**series_style(_style_name(line["model"])), "linestyle": "none"}
    half = line["block_interval"]
    ax.errorbar(100 * line["block"], y, xerr=half and 100 * half, elinewidth=1.3, **style)
    if alike is not None:
        ax.plot(100 * alike["block"], y, "|", color=style["color"], markersize=9)


# -- the report -----------------------------------------------------------------------------------

_COLUMNS = (
    "data", "n_train", "model", "draws",
    *(f"{score}{ending}" for score in (*_SCORES, "error") for ending in ("", "_interval")),
    "against",
    *(f"{score}_more{ending}" for score in (*_SCORES, "error") for ending in ("", "_interval")),
    *(f"f1_{attribute}" for attribute in ATTRIBUTES), "largest_gap", "n_nonzero", "n_weights",
)  # fmt: skip


def _score_table(lines: Sequence[Mapping[str, Any]], score: str) -> str:
    """Return a table of a score, a line for each model and a column for each kind of draw."""
    data = list(dict.fromkeys(line["data"] for line in lines))
    columns = [Column("model", "model")]
    for name in data:
        columns.append(Column(_data_text(name), partial(_cell, score, name), right=True))
    by_model = groups(lines, "model", order=ORDER.index)
    return table(columns, [{"model": name, "of": {x["data"]: x for x in group}}
                           for name, group in by_model.items()]).markdown()  # fmt: skip


def _cell(score: str, data: str, row: Mapping[str, Any]) -> str | None:
    line = row["of"].get(data)
    return line and plus_minus(line[score], line[f"{score}_interval"], ".1f", times=100)


def _data_text(data: str) -> str:
    kind, _, share = data.partition("-")
    return f"{share} %" if kind == "web" else f"new templates, {share} %"


_DETAILS = (
    Column("model", "model"),
    *(Column(name, f"f1_{name}", percent(), right=True) for name in ATTRIBUTES),
    Column("wrong leaves", "error", percent(), right=True),
    Column("largest gap", "largest_gap", percent(), right=True),
    Column("weights", "n_weights", ",.0f", right=True),
    Column("not zero", lambda x: x["n_nonzero"] / x["n_weights"], percent(".0f"), right=True),
)


def _report(rows: Sequence[Row], scale: str) -> Report:
    lines = lines_of(rows)
    share = lines[-1]["data"].partition("-")[2]  # with which templates are left out
    compared = [row for row in rows if row["model"] in ORDER]
    most = max(line["draws"] for line in lines)
    caption = _TEXTS(
        "caption",
        version=VERSION,
        n_train=N_TRAIN,
        n_test=N_TEST,
        n_models=len({row["model"] for row in compared if row["model"] in NAMES}),
        draws=counted(most, "draw"),
        share=CHOOSES_AT,
        judging=N_JUDGING,
        passes=MOST_PASSES,
        grids=grids_text(fair_grids(RANGES, NAMES)),
        choice=CHOICE[scale],
        choices=choices_text(compared),
    )
    tables = [
        f"{_TEXTS('table', score=title.capitalize() if score == 'block' else 'Average F1')}\n\n"
        f"{_score_table(lines, score)}"
        for score, title in _SCORES.items()
    ]
    details = table(_DETAILS, [line for line in lines if line["data"] == f"web-{share}"])
    tables.append(f"{_TEXTS('details', share=share)}\n\n{details.markdown()}")
    said = bullets(_findings(lines))
    return Report(
        _COLUMNS,
        lines,
        f"{details.text()}\n\n{said}",
        f"{paragraphs(caption, shapes_text(compared))}\n\n{said}\n\n" + "\n".join(tables),
        {"trees": f"{paragraphs(_TEXTS('trees', version=VERSION, share=share))}\n"},
    )


def _findings(lines: Sequence[Mapping[str, Any]]) -> list[str]:
    """Say for both scores who is best, and how trees compare with chains, told of ancestors or not."""
    texts = []
    for score, title in _SCORES.items():
        trees = [x for x in lines if x["model"] in NAMES and x["data"].startswith("web")]
        means = {name: mean(group, score) for name, group in groups(trees, "model").items()}
        best = max(means, key=lambda name: means[name] or 0.0)
        texts.append(_TEXTS("best", score=title, model=best, value=100 * (means[best] or 0.0)))
        for kind in ("web", "templates"):
            for ending in (FLAT, f"{FLAT}{TOLD}"):
                flat = [
                    x
                    for x in lines
                    if structure_of(x["model"]) == ending
                    and x["data"].startswith(kind)
                    and x[f"{score}_more_interval"] is not None
                ]
                if flat:
                    texts.append(_compared(flat, score, kind, told=ending != FLAT))
    return texts


def _compared(flat: Sequence[Mapping[str, Any]], score: str, kind: str, *, told: bool) -> str:
    """Say between which ends trees exceed chains, and how often that is sure in either direction."""
    gained = [-100 * line[f"{score}_more"] for line in flat]
    halves = [100 * line[f"{score}_more_interval"] for line in flat]
    pairs = list(zip(gained, halves, strict=True))
    return _TEXTS(
        "trees-gain",
        score=_SCORES[score],
        chains="chains that are told of ancestors" if told else "chains",
        where="new templates" if kind == "templates" else "the same templates",
        low=min(gained),
        high=max(gained),
        above=sum(more > half for more, half in pairs),
        below=sum(more < -half for more, half in pairs),
        n=len(flat),
    )


WEB_STUDY = Study(
    "web-extraction",
    "product pages: DOM trees against chains",
    fits=_specs,
    fit=Trained(
        split_and_validate(page_split), models=_MODELS, measure=_measure, measured=_MEASURED
    ),
    draw=_draw_scores,
    report=_report,
    remarks=_TEXTS("remarks"),
    duration="quick 20 s, paper 18 min",
    shows="MEDN 10,L1-M3N 7",
    more_figures={"trees": _draw_trees},
    generated=True,
    place=8,
)
"""The study."""
