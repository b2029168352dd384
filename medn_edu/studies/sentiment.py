"""The study ``sentiment``: what a tree adds to phrases of film reviews, and which words priors keep.

How it works stands at the head of ``sentiment.md``.
"""

import textwrap
import warnings
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from medn_edu import SequenceVectorizer
from medn_edu.datasets import load_sst
from medn_edu.explorers.kit.panels import letter_panels
from medn_edu.explorers.kit.style import INK, MUTED, new_figure, save_figure, series_style, styled
from medn_edu.studies.kit.fair import (
    CHOICE_COLUMNS,
    Ranges,
    choices_text,
    choosing,
    ending_after,
    fair_grids,
    fair_model,
    grids_text,
    measure_choice,
    once,
    split_and_validate,
)
from medn_edu.studies.kit.figures import draw_dots
from medn_edu.studies.kit.lookup import Lookup
from medn_edu.studies.kit.models import Model
from medn_edu.studies.kit.selection import CHOICE
from medn_edu.studies.kit.specs import FitSpec, Report, Row, Split, Study
from medn_edu.studies.kit.summary import (
    Column,
    numbers,
    numbers_text,
    percent,
    plus_minus,
    table,
)
from medn_edu.studies.kit.texts import Texts, bullets, listed, paragraphs
from medn_edu.studies.kit.trained import Trained
from medn_edu.text import Parse, PhraseFeatures

_TEXTS = Texts("sentiment.md")

RANGES = Ranges(
    l2_crf=(10, 0.1), l1_crf=(10, 0.2), m3n=(0.05, 5), l1_m3n=(0.15, 2), prices=(0.1, 1, 10)
)
"""Constants of the fair protocol, before paths are extended."""

_PARTS = ("train", "dev", "test")
# How many sentences of each part there are, and of how many training sentences the first is taken.
_SIZES = {
    "sst-quick": (150, 60, 150),
    "sst-eighth": (1068, 1101, 0),  # on which constants are chosen
    "sst-quarter": (2136, 1101, 2210),  # for models that see words alone
    "sst": (8544, 1101, 2210),
}
_EVERY = {"sst-eighth": 8, "sst-quarter": 4}
_LABELS = ("0", "1", "2", "3", "4")
SIGNS = ("very\nnegative", "−", "neutral", "+", "very\npositive")
"""How the labels are written in figures."""

PRINTED = {
    "naive Bayes": (0.672, 0.410),
    "naive Bayes with pairs": (0.710, 0.419),
    "SVM": (0.643, 0.407),
    "averaged word vectors": (0.733, 0.327),
    "RNN": (0.790, 0.432),
    "MV-RNN": (0.787, 0.444),
    "RNTN": (0.807, 0.457),
}
"""Accuracy on all phrases and on whole sentences of the test part (Socher et al. 2013, Table 1)."""


# -- data -----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Part:
    """One part of the treebank."""

    parses: list[Parse]
    labels: list[list[str]]
    samples: list[Any]  # trees with features in numbers
    kinds: dict[str, np.ndarray]  # which of all phrases are of each kind

    @property
    def n_nodes(self) -> list[int]:
        return [parse.n_nodes for parse in self.parses]


@lru_cache(maxsize=1)
def treebank(data: str) -> tuple[dict[str, _Part], list[str]]:
    """Return the parts with their features, and the names of these.

    Training trees are described with what other trees say, all others with what training says.
    """
    bunch = load_sst(download=False)
    chosen = {
        part: np.flatnonzero(bunch.split == part)[:: _EVERY.get(data, 1) if part == "train" else 1]
        for part in _PARTS
    }
    for part, size in zip(_PARTS, _SIZES[data], strict=True):
        chosen[part] = chosen[part][:size]
    X = {part: [bunch.data[i] for i in places] for part, places in chosen.items()}
    y = {part: [bunch.target[i] for i in places] for part, places in chosen.items()}
    phrases, vectorizer = PhraseFeatures(), SequenceVectorizer()
    samples = {
        "train": vectorizer.fit_transform(phrases.fit_transform(X["train"], y["train"])),
        **{part: _transformed(vectorizer, phrases.transform(X[part])) for part in ("dev", "test")},
    }
    parts = {
        part: _Part(X[part], y[part], samples[part], kinds_of(X[part], set(phrases.counts_)))
        for part in _PARTS
    }
    return parts, vectorizer.get_feature_names_out().tolist()


def _transformed(vectorizer: SequenceVectorizer, trees: Sequence[Any]) -> list[Any]:
    """Describe trees by the features that training has; new text always has others, too."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*fit did not see")
        return vectorizer.transform(trees) if trees else []


KINDS = ("all", "whole", "inner", "words", "unseen")
"""Kinds of phrases: all, whole sentences, of two words or more, single words, not in training."""


def kinds_of(parses: Sequence[Parse], known: set[str]) -> dict[str, np.ndarray]:
    """Return which of all phrases are of each of `KINDS`; those in ``known`` are in training."""
    nodes = [(parse, node) for parse in parses for node in range(parse.n_nodes)]
    kinds = {
        "all": [True for _ in nodes],
        "whole": [node == 0 for _, node in nodes],
        "inner": [not parse.is_word(node) for parse, node in nodes],
        "words": [parse.is_word(node) for parse, node in nodes],
        "unseen": [parse.phrase(node).lower() not in known for parse, node in nodes],
    }
    return {kind: np.array(those, dtype=bool) for kind, those in kinds.items()}


def treebank_split(spec: FitSpec, *, validate: bool = False) -> Split:
    """Return what trains and what tests; to choose constants, development trees stand behind."""
    parts, names = treebank(spec.data)
    train = [parts["train"], parts["dev"]] if validate else [parts["train"]]

    def inputs(part: _Part) -> list[Any]:
        if spec.model in _TABLES:
            return part.parses
        if spec.model.endswith(WORDS):
            return _of_words(part.samples, names)
        return _apart(part.samples) if spec.model.endswith(_APART) else part.samples

    return Split(
        [x for part in train for x in inputs(part)],
        [labels for part in train for labels in part.labels],
        inputs(parts["test"]),
        parts["test"].labels,
    )


def _apart(samples: Sequence[Any]) -> list[Any]:
    """Take all edges away."""
    return [replace(x, parents=[-1] * x.features.shape[0], edge_types=None) for x in samples]


def _of_words(samples: Sequence[Any], names: Sequence[str]) -> list[Any]:
    """Leave only the features that single words are."""
    columns = [k for k, name in enumerate(names) if _word_of(name)]
    return [replace(x, features=x.features[:, columns]) for x in samples]


def _word_of(name: str) -> str:
    """Return the word that a feature counts, or nothing if it is another feature."""
    kind, _, words = name.partition("=")
    return words if kind == "words" and " " not in words else ""


# -- models ---------------------------------------------------------------------------------------


class Phrases(Lookup):
    """Looks up phrases in training; without ``looks`` it says the commonest label every time."""

    def __init__(self, looks: bool = True) -> None:
        self.looks = looks

    def keys(self, x: Parse) -> list[Hashable]:
        """Return the phrases in lower case."""
        return [x.phrase(node).lower() if self.looks else "" for node in range(x.n_nodes)]


MOST_PASSES = 100
"""Passes after which fits of LapMEDN end."""

_APART = ", no edges"
WORDS = ", words"
"""What ends the names of models that see single words, and nothing else."""

_TABLES = {"commonest label": False, "lookup": True}
_TREES = ("L2-CRF", "L1-CRF", "M3N", "epsilon-M3N", "L1-M3N", "LapMEDN")
_KEEP = ("M3N", "LapMEDN", "L1-M3N")  # whose weights of words are compared
ORDER = (
    *_TABLES, f"L2-CRF{_APART}", f"M3N{_APART}", *_TREES, *(f"{name}{WORDS}" for name in _KEEP)
)  # fmt: skip
"""All models, in the order of tables."""

_COARSE = 0.1  # gap of fits that only judge constants
_REFERENCE = "M3N"  # whose errors are subtracted
_QUICK = (*_TABLES, f"M3N{_APART}", "M3N", f"M3N{WORDS}")
_KNOWN = ending_after(MOST_PASSES)
_GRIDS = fair_grids(RANGES, _TREES)


def _model(name: str) -> Model:
    base = _base_of(name)
    known = replace(_KNOWN[base], name=name)
    given = replace(known, build=partial(_l1_m3n, known)) if base == "L1-M3N" else known
    return once(name, given, fair_model(name, _GRIDS[base], {name: known}, tol=_COARSE))


def _base_of(name: str) -> str:
    """Return the model without what it sees."""
    return name.removesuffix(_APART).removesuffix(WORDS)


def _l1_m3n(known: Model, **constants: float) -> Any:
    """Return L1-M3N with a wider gap, which on all trees already takes the longest of all."""
    return known.build(**constants).set_params(tol=5e-2)


_MODELS = {
    **{
        name: Model(name, partial(Phrases, looks), "a table of phrases")
        for name, looks in _TABLES.items()
    },
    **{name: _model(name) for name in ORDER if name not in _TABLES},
}


# -- fits -----------------------------------------------------------------------------------------


def _specs(scale: str, seed: int) -> list[FitSpec]:
    quick = scale == "quick"
    data, first = ("sst-quick", "sst-quick") if quick else ("sst", "sst-eighth")
    tables = [FitSpec(data, 0, name, (), seed) for name in _TABLES]
    choose = [
        FitSpec(first, 0, name, choosing(name, _SIZES[first][0], scale), seed)
        for name in (_QUICK if quick else ORDER)
        if name not in _TABLES
    ]
    last = [
        FitSpec(
            "sst-quarter" if spec.model.endswith(WORDS) else data, 0, spec.model, (), seed, spec.key
        )
        for spec in choose
    ]
    return [*tables, *choose, *([] if quick else sorted(last, key=lambda spec: spec.data))]


_PER_LABEL = 4
_COUNTS = ("wrong", "wrong_whole", "n_nodes")
_MEASURED = (
    *(f"{part}_{kind}" for part in ("dev", "test") for kind in KINDS), "n_unseen", "n_words",
    "n_words_kept", "words", "word_weights", *_COUNTS, *CHOICE_COLUMNS,
)  # fmt: skip


def _measure(spec: FitSpec, model: Any) -> Row:
    parts, names = treebank(spec.data)
    if not parts["test"].parses:
        return measure_choice(spec, model)
    data = {"dev": treebank_split(spec, validate=True).X_train[len(parts["train"].parses) :]}
    data["test"] = treebank_split(spec).X_test
    row: Row = {}
    for name, X in data.items():
        part = parts[name]
        wrong = [
            np.asarray(found) != np.asarray(labels)
            for found, labels in zip(model.predict(X), part.labels, strict=True)
        ]
        right = ~np.concatenate(wrong)
        row |= {f"{name}_{kind}": float(right[mask].mean()) for kind, mask in part.kinds.items()}
    row["n_unseen"] = int(part.kinds["unseen"].sum())
    row["wrong"] = numbers_text([each.sum() for each in wrong], "d")
    row["wrong_whole"] = numbers_text([each[0] for each in wrong], "d")
    row["n_nodes"] = numbers_text([len(each) for each in wrong], "d")
    if spec.model.endswith(WORDS):
        row |= _word_weights(model, parts["train"], names)
    return row | measure_choice(spec, model)


def _word_weights(model: Any, train: _Part, names: Sequence[str]) -> Row:
    """Return the weights of the commonest words of each label, and how many words have any weight."""
    place = {word: k for k, word in enumerate(filter(None, map(_word_of, names)))}
    words = commonest_words(train.parses, train.labels)
    return {
        "n_words": len(place),
        "n_words_kept": int(np.count_nonzero(model.coef_.any(axis=0))),
        "words": " ".join(words),
        "word_weights": numbers_text(model.coef_[:, [place[word] for word in words]].T, ".4g"),
    }


def commonest_words(
    parses: Sequence[Parse], labels: Sequence[Sequence[str]], n: int = _PER_LABEL
) -> list[str]:
    """Return the most frequent words of letters that have each label by themselves."""
    counts: Counter[tuple[str, str]] = Counter()
    for parse, said in zip(parses, labels, strict=True):
        for node, label in enumerate(said):
            if parse.is_word(node):
                counts[label, parse.phrase(node).lower()] += 1
    ordered = sorted(counts, key=lambda pair: (-counts[pair], pair))
    return [
        word
        for label in _LABELS
        for word in [word for own, word in ordered if own == label and word.isalpha()][:n]
    ]


# -- what comes out -------------------------------------------------------------------------------


def lines_of(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return a line for each model, with intervals over test sentences.

    Phrases of one sentence are right or wrong together, so an accuracy on phrases is a ratio of two
    sums over sentences, and its interval is that of a ratio.
    """
    lines = []
    rows = last_fits(rows)
    for row in sorted(rows, key=lambda row: ORDER.index(row["model"])):
        sizes = numbers(row["n_nodes"])
        halves = {
            "all_half": half_of_share(numbers(row["wrong"]), sizes),
            "whole_half": half_of_share(numbers(row["wrong_whole"]), np.ones(len(sizes))),
        }
        against = f"{_REFERENCE}{WORDS}" if row["model"].endswith(WORDS) else _REFERENCE
        lines.append({**row, **halves, **_against(rows, row["model"], against)})
    return lines


def half_of_share(counts: np.ndarray, sizes: np.ndarray) -> float:
    """Return half the 95 % interval of ``counts.sum() / sizes.sum()``, over independent sentences."""
    left = counts - counts.sum() / sizes.sum() * sizes
    return float(1.96 * np.sqrt((left**2).sum()) / sizes.sum())


_TITLES = {
    "all": "all phrases",
    "whole": "whole sentences",
    "inner": "two words or more",
    "unseen": "not in training",
}


def _draw(rows: Sequence[Row], path: Path) -> None:
    """Draw the accuracy of each model on four kinds of phrases, next to the printed ones."""
    lines = {line["model"]: line for line in lines_of(rows) if not line["model"].endswith(WORDS)}
    names = [*lines, *PRINTED]
    heights = dict(
        zip(names, [k + 0.4 * (k >= len(lines)) for k in range(len(names))], strict=True)
    )
    figure = new_figure(13, 1.6 + 0.33 * len(names))
    with styled():
        axes = figure.subplots(1, len(_TITLES), sharey=True)
        for ax, (kind, title) in zip(axes, _TITLES.items(), strict=True):
            for name, y in heights.items():
                if name in lines:
                    _draw_line(ax, y, lines[name], kind)
                elif kind in ("all", "whole"):
                    value = 100 * PRINTED[name][kind == "whole"]
                    ax.plot(value, y, marker="|", color=MUTED, markersize=11, markeredgewidth=2)
                    _write(ax, value, y, MUTED)
            ax.axhline(len(lines) - 0.55, color=MUTED, linewidth=0.8)
            ax.set_title(title)
            ax.set_xlabel(f"right (% of {'sentences' if kind == 'whole' else 'phrases'})")
            ax.margins(x=0.25)
            ax.grid(axis="both")
            ax.tick_params(axis="y", length=0)
            ax.spines["left"].set_visible(False)
        letter_panels(axes)
        ax.set_yticks(list(heights.values()), [*lines, *(f"{name} (2013)" for name in PRINTED)])
        ax.set_ylim(max(heights.values(), default=0) + 0.6, -0.6)
        figure.supxlabel(_TEXTS("note"), fontsize=9, color=MUTED)
    save_figure(figure, path)


def _draw_line(ax: Axes, y: int, line: Mapping[str, Any], kind: str) -> None:
    style = {**series_style(line["model"]), "linestyle": "none", "markersize": 7, "elinewidth": 1.4}
    value, half = 100 * line[f"test_{kind}"], line.get(f"{kind}_half")
    ax.errorbar(value, y, xerr=half and 100 * half, **style)
    _write(ax, value, y, INK)


def _write(ax: Axes, value: float, y: int, colour: str) -> None:
    ax.annotate(
        f"{value:.1f}", (value, y), (0, 6), textcoords="offset points", ha="center", fontsize=9,
        color=colour,
    )  # fmt: skip


def _draw_words(rows: Sequence[Row], path: Path) -> None:
    """Draw what each prior keeps: for each word a dot per label, as large as its weight."""
    shown = sorted((row for row in rows if row["words"]), key=lambda row: ORDER.index(row["model"]))
    words = shown[0]["words"].split()
    heights = [k + 0.7 * (k // _PER_LABEL) for k in range(len(words))]
    figure = new_figure(2.7 * len(shown) + 1.2, 7)
    with styled():
        panels = figure.subplots(1, len(shown), sharey=True, squeeze=False)[0]
        for ax, row in zip(panels, shown, strict=True):
            cells = [(k // _PER_LABEL, y) for k, y in enumerate(heights)]
            draw_dots(
                ax, numbers(row["word_weights"]).reshape(len(words), -1), heights, cells, size=210
            )
            ax.set_aspect("auto")
            ax.set_xticks(range(len(SIGNS)), SIGNS, fontsize=9.5)
            kept = f"{row['n_words_kept']:,} of {row['n_words']:,} words"
            ax.set_title(f"{_base_of(row['model'])}\n{kept}")
        letter_panels(panels, fontsize=11)
        panels[0].set_yticks(heights, words, fontsize=10)
        note = textwrap.fill(_TEXTS("words-note"), 45 * len(shown))
        figure.supxlabel(note, fontsize=10, color=MUTED)
    save_figure(figure, path)


_COLUMNS = (
    "model", "n_train", "parameters", *(f"{part}_{kind}" for part in ("dev", "test") for kind in KINDS),
    "all_half", "all_more", "all_more_half", "whole_half", "whole_more", "whole_more_half",
    "relative_gap", "n_passes", "n_nonzero", "n_weights", "n_words_kept", "n_words",
)  # fmt: skip


def _points(kind: str, half: str, sign: str = "") -> Any:
    return lambda line: plus_minus(line[kind], line[half], ".1f", times=100, sign=sign)


_TABLE = (
    Column("model", "model"),
    Column("trees", "n_train", ",d", right=True),
    Column("all (%)", _points("test_all", "all_half"), right=True),
    Column("all: more than M3N", _points("all_more", "all_more_half", "+"), right=True),
    Column("whole", _points("test_whole", "whole_half"), right=True),
    Column("whole: more than M3N", _points("whole_more", "whole_more_half", "+"), right=True),
    Column("two words or more", "test_inner", percent(), right=True),
    Column("not in training", "test_unseen", percent(), right=True),
    Column("dev: all", "dev_all", percent(), right=True),
    Column("dev: two or more", "dev_inner", percent(), right=True),
    Column("dev: whole", "dev_whole", percent(), right=True),
    Column("dev: not in training", "dev_unseen", percent(), right=True),
    Column("weights", "n_nonzero", ",d", right=True),
    Column("words", "n_words_kept", ",d", right=True),
    Column("gap", "relative_gap", percent(), right=True),
    Column("constants", lambda line: line["chosen"] or line["parameters"]),
)


def _report(rows: Sequence[Row], scale: str) -> Report:
    made, rows = rows, last_fits(rows)
    lines = lines_of(rows)
    summary = table(_TABLE, lines)
    by_name = {line["model"]: line for line in lines}
    full = next(row for row in rows if not row["model"].endswith(WORDS))
    sizes = dict(zip(_PARTS, _SIZES[full["data"]], strict=True))
    caption = _TEXTS(
        "caption",
        **{f"n_{part}": size for part, size in sizes.items()},
        n_nodes=int(numbers(full["n_nodes"]).sum()),
        unseen=full["n_unseen"],
        weights=max(line["n_weights"] for line in lines),
        grids=grids_text(_GRIDS),
        choice=CHOICE[scale],
        choices=choices_text(made),
        passes=MOST_PASSES,
    )
    best = max(lines, key=lambda line: line["test_all"])
    judged = max(lines, key=lambda line: line["dev_all"])
    better = [
        name
        for name, line in by_name.items()
        if not name.endswith(WORDS)
        and line["all_more"] is not None
        and line["all_more"] > line["all_more_half"]
    ]
    edges = [
        _edges_text(rows, name, f"{name}{_APART}")
        for name in by_name
        if f"{name}{_APART}" in by_name
    ]
    said = bullets(
        [
            _TEXTS(
                "best",
                model=best["model"],
                all=100 * best["test_all"],
                dev_model=judged["model"],
                dev=100 * judged["dev_all"],
            ),
            _TEXTS("better", models=listed(better)) if better else _TEXTS("none-better"),
            *edges,
        ]
    )
    alone = [line["n_train"] for line in lines if line["model"].endswith(WORDS)]
    words = _TEXTS("words", n=_PER_LABEL, n_trees=max(alone, default=0))
    return Report(
        _COLUMNS,
        lines,
        f"{summary.text()}\n\n{said}",
        f"{paragraphs(caption)}\n\n{summary.markdown()}\n{said}\n",
        {"words": f"{paragraphs(words)}\n"},
    )


def last_fits(rows: Sequence[Row]) -> list[Row]:
    """Leave out the fits that only choose constants for others."""
    return [row for row in rows if row["wrong"]]


def _against(rows: Sequence[Row], name: str, other: str) -> dict[str, float | None]:
    """Return by how much a model is right more often than another one, with intervals."""
    by_name = {row["model"]: row for row in rows}
    if other not in by_name:  # its fit has failed
        return dict.fromkeys(("all_more", "all_more_half", "whole_more", "whole_more_half"))
    sizes = numbers(by_name[name]["n_nodes"])
    found: dict[str, float | None] = {}
    for kind, column, size in (
        ("all", "wrong", sizes), ("whole", "wrong_whole", np.ones(len(sizes))),
    ):  # fmt: skip
        fewer = numbers(by_name[other][column]) - numbers(by_name[name][column])
        found[f"{kind}_more"] = float(fewer.sum() / size.sum())
        found[f"{kind}_more_half"] = half_of_share(fewer, size)
    return found


def _edges_text(rows: Sequence[Row], name: str, other: str) -> str:
    more = _against(rows, name, other)
    points = {
        kind: _points(f"{kind}_more", f"{kind}_more_half", "+")(more) for kind in ("all", "whole")
    }
    return _TEXTS("edges", model=name, **points)


SENTIMENT = Study(
    "sentiment",
    "phrases of reviews: what trees add",
    fits=_specs,
    fit=Trained(
        split_and_validate(treebank_split), models=_MODELS, measure=_measure, measured=_MEASURED
    ),
    draw=_draw,
    report=_report,
    remarks=_TEXTS("remarks"),
    duration="quick 8 s, paper 21 min",
    more_figures={"words": _draw_words},
    place=9,
)
"""The study."""
