"""The study ``text-scaling``: time to train on text, against the number of sentences.

All is measured in this process, one training after the other, in seconds of the processor.  Sentences
are read one at a time, so that the features of 100,000 of them are never all there as text.
"""

import contextlib
import io
import tempfile
import textwrap
import time
from collections.abc import Sequence
from functools import lru_cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from medn_edu.datasets import make_text, token_features
from medn_edu.estimators import CRF, M3N
from medn_edu.estimators.base import MarkovNetwork
from medn_edu.explorers.kit.style import MUTED, new_figure, save_figure, series_style, styled
from medn_edu.samples import Samples, pack
from medn_edu.studies.kit.crfsuite import crfsuite_trainer
from medn_edu.studies.kit.specs import FitSpec, Report, Study
from medn_edu.studies.kit.summary import Column, Row, groups, table
from medn_edu.studies.kit.texts import Texts
from medn_edu.text import SequenceVectorizer

_SIZES = {"quick": (50, 100), "paper": (1_000, 3_000, 10_000, 30_000, 100_000)}
_FEW = 10_000  # sentences on which CRFsuite trains at most
_PEER = "CRFsuite"
_MODELS: dict[str, MarkovNetwork] = {
    "L2-CRF": CRF("l2", tol=1e-4, verbose=0),
    "L1-CRF": CRF("l1", tol=1e-3, verbose=0),
    "M3N": M3N(C=0.1, tol=1e-2, verbose=0),
}
_COLUMNS = (
    "sentences", "tokens", "features", "model", "training_seconds", "n_passes", "relative_gap",
)  # fmt: skip


def _specs(scale: str, seed: int) -> list[FitSpec]:
    models = [*_MODELS, *([_PEER] if find_spec("pycrfsuite") else [])]
    return [
        FitSpec("text", 0, model, (("sentences", n),), seed)
        for n in _SIZES[scale]
        for model in models
        if model != _PEER or n <= _FEW
    ]


def _trained(spec: FitSpec) -> Row:
    n_sentences = int(dict(spec.parameters)["sentences"])
    samples, y = _samples(n_sentences, spec.seed)
    if spec.model == _PEER:
        found = _crfsuite(n_sentences, spec.seed)
    else:
        model, first = _MODELS[spec.model], np.arange(50)
        clone(model).fit(samples.take(first), y[:50])  # loads the kernels, which is not training
        begin = time.process_time()
        result = clone(model).fit(samples, y).result_
        found = {
            "training_seconds": time.process_time() - begin,
            "n_passes": result.n_passes,
            "relative_gap": result.relative_gap,
        }
    size = {"tokens": samples.n_nodes, "features": samples.n_features}
    return {"sentences": n_sentences, "model": spec.model, **size, **found}


@lru_cache(maxsize=1)  # all models train on one size before the next
def _samples(n_sentences: int, seed: int) -> tuple[Samples, list[Any]]:
    text = make_text(n_sentences, random_state=seed)
    matrices = SequenceVectorizer().fit_transform(map(token_features, text.data))
    return pack(matrices).forests, text.target


def _crfsuite(n_sentences: int, seed: int) -> Row:
    trainer = crfsuite_trainer("l2", epsilon=1e-6, delta=1e-6)
    text = make_text(n_sentences, random_state=seed)
    for words, labels in zip(text.data, text.target, strict=True):
        trainer.append(token_features(words), labels)
    begin = time.process_time()
    said = contextlib.redirect_stdout(io.StringIO())
    with tempfile.TemporaryDirectory() as folder, said:
        trainer.train(str(Path(folder) / "model"))
    end = trainer.history[-1][2]
    close = [seconds for _, seconds, loss in trainer.history if loss <= end * (1 + _tol("L2-CRF"))]
    n_passes = len(trainer.history) - len(close) + 1
    return {"training_seconds": close[0] - begin, "n_passes": n_passes, "relative_gap": None}


def _tol(model: str) -> float:
    return float(_MODELS[model].tol)


def _percent(model: str) -> str:
    return f"{100 * _tol(model):g} %"


def _draw(rows: Sequence[Row], path: Path) -> None:
    figure = new_figure(6.5, 4.5)
    with styled():
        ax = figure.add_subplot(
            xlabel="sentences", ylabel="processor seconds", xscale="log", yscale="log"
        )
        for model, group in groups(rows, "model").items():
            points = np.array([(row["sentences"], row["training_seconds"]) for row in group])
            ax.plot(*points.T, label=model, **series_style(model))
            ax.plot(
                points[:, 0], points[0, 1] * points[:, 0] / points[0, 0],
                color=MUTED, linestyle=":", linewidth=0.8, zorder=0,
            )  # fmt: skip
        sizes = sorted({row["sentences"] for row in rows})
        ax.set_xticks(sizes, [f"{n:,}" for n in sizes])
        ax.set_xticks([], minor=True)
        ax.yaxis.set_major_formatter(lambda value, _: f"{value:,.5g}")
        ax.legend()
    save_figure(figure, path)


_TEXTS = Texts("text_scaling.md")


def _report(rows: Sequence[Row], scale: str) -> Report:
    by_model = groups(rows, "model")
    lines = [
        {**group[0], **{row["model"]: row["training_seconds"] for row in group}}
        for group in groups(rows, "sentences").values()
    ]
    columns = (
        Column("sentences", "sentences", ",d", right=True),
        Column("features", "features", ",d", right=True),
        *(Column(f"{model}, s", partial(_of, model), ".3g", right=True) for model in by_model),
    )
    least, most = (lines[k]["sentences"] for k in (0, -1))
    caption = _TEXTS(
        "caption",
        l2=_percent("L2-CRF"), l1=_percent("L1-CRF"), m3n=_percent("M3N"), few=_FEW,
        least=least, most=most, times=f"{most / least:g}",
        growth=", ".join(
            f"{model} takes {_growth(group)}"
            for model, group in by_model.items() if group[-1]["sentences"] == most
        ),
    )  # fmt: skip
    found = table(columns, lines)
    return Report(
        _COLUMNS, list(map(dict, rows)), found.text(),
        f"{textwrap.fill(caption, 100)}\n\n{found.markdown()}",
    )  # fmt: skip


def _of(model: str, line: Row) -> float | None:
    return line.get(model)


def _growth(rows: Sequence[Row]) -> str:
    first, last = (rows[k]["training_seconds"] for k in (0, -1))
    return f"{last / first:.3g} times as long"


TEXT_SCALING = Study(
    "text-scaling",
    "training time against sentences of text",
    fits=_specs,
    fit=_trained,
    draw=_draw,
    report=_report,
    columns=_COLUMNS,
    duration="quick 10 s, paper 30 min",
    place=17,
)
"""The study."""
