"""The fit of most studies: a model is trained on a part of the data and measured on the rest."""

import statistics
import textwrap
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from medn_edu.studies.kit.models import MODELS, Model, make_model, sparsity
from medn_edu.studies.kit.selection import Selected
from medn_edu.studies.kit.specs import FitSpec, Report, Row, Split, Study
from medn_edu.studies.kit.summary import (
    MISSING,
    Column,
    constants_text,
    groups,
    largest,
    plus_minus,
    table,
    values,
)

COLUMNS = (
    "data", "fold", "model", "parameters", "seed", "chosen", "n_train", "n_test", "error",
    "train_error", "primal", "dual", "relative_gap", "n_passes", "n_weights", "n_nonzero", "n_large",
    "n_support", "status",
)  # fmt: skip
"""Columns that every trained model fills."""


@dataclass(frozen=True, eq=False)
class Trained:
    """Train the model of a spec on its split, and measure it: ``Trained(split)(spec)`` is a row."""

    split: Callable[[FitSpec], Split]  # ``split(spec)`` returns the data of a fit
    models: Mapping[str, Model] = field(default_factory=lambda: MODELS)  # by name
    measure: Callable[[FitSpec, Any], Row] | None = None  # what else is measured
    measured: tuple[str, ...] = ()  # the columns that ``measure`` fills
    kinds: Mapping[str, Mapping[str, Model]] = field(default_factory=dict)
    """Models of data whose names begin so, where not all data have the same."""

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that are filled."""
        return tuple(dict.fromkeys((*COLUMNS, *self.measured)))

    def build(self, spec: FitSpec) -> Any:
        """Return the model of a fit, not trained yet."""
        found = (models for kind, models in self.kinds.items() if spec.data.startswith(kind))
        models = next(found, self.models)
        return make_model(spec.model, models, seed=spec.seed, **dict(spec.parameters))

    def settings(self, spec: FitSpec) -> str:
        """Return all parameters of the model, defaults included."""
        found = self.build(spec).get_params(deep=False)
        kept = {name: value for name, value in found.items() if name not in ("n_jobs", "verbose")}
        return " ".join(f"{name}={value}" for name, value in sorted(kept.items()))

    def __call__(self, spec: FitSpec) -> Row:
        """Make a fit; its times are those of training."""
        data, model = self.split(spec), self.build(spec)
        start, cpu_start = time.perf_counter(), time.thread_time()
        model.fit(data.X_train, data.y_train)
        seconds, cpu_seconds = time.perf_counter() - start, time.thread_time() - cpu_start
        times = {"seconds": round(seconds, 3), "cpu_seconds": round(cpu_seconds, 3)}
        more = self.measure(spec, model) if self.measure else {}
        return {**measured(model, data, more), **times}


def measured(model: Any, data: Split, more: Mapping[str, Any] | None = None) -> Row:
    """Return what is measured of every trained model on its split, and what else was measured.

    A study that measures its own errors saves the time of predicting twice.
    """
    result = getattr(model, "result_", None)
    n_train = model.n_train_ if isinstance(model, Selected) else len(data.X_train)
    more = {} if more is None else more
    errors = {} if "train_error" in more else _errors(model, data, n_train)
    return {
        "chosen": constants_text(model.chosen_.items()) if isinstance(model, Selected) else "",
        "n_train": n_train,
        "n_test": len(data.X_test),
        **errors,
        "primal": getattr(result, "primal", None),
        "dual": _finite(getattr(result, "dual", None)),
        "relative_gap": _finite(getattr(result, "relative_gap", None)),
        "n_passes": getattr(result, "n_passes", None),
        **sparsity(model),
        "status": getattr(result, "status", ""),
        **more,
    }


def _errors(model: Any, data: Split, n_train: int) -> Row:
    tested = len(data.X_test) > 0
    return {
        "error": label_error(model.predict(data.X_test), data.y_test) if tested else None,
        "train_error": label_error(model.predict(data.X_train[:n_train]), data.y_train[:n_train]),
    }


def label_error(predicted: Iterable[Any], true: Iterable[Any]) -> float:
    """Return the share of nodes whose label is wrong."""
    wrong, n_nodes = 0, 0
    for one, other in zip(predicted, true, strict=True):
        n_nodes += len(other)
        arrays = isinstance(one, np.ndarray) and isinstance(other, np.ndarray)
        if arrays and len(one) == len(other):
            wrong += int(np.count_nonzero(one != other))  # ten times as fast as a loop
        else:
            wrong += sum(a != b for a, b in zip(one, other, strict=True))
    return wrong / n_nodes


def _finite(value: float | None) -> float | None:
    return value if value is not None and np.isfinite(value) else None


# -- a study that writes no report of its own -----------------------------------------------------


def plain_report(study: Study, rows: Sequence[Row]) -> Report:
    """Return means over folds, one line per data set and model, and what the study says of itself."""
    place = {name: number for number, name in enumerate(MODELS)}
    ordered = sorted(rows, key=lambda row: (row["data"], place.get(row["model"], len(place))))
    known = [row for row in ordered if row["error"] is not None]  # others only choose constants
    lines = [{"rows": group} for group in groups(known, "data", "model").values()]
    sentences = [text[:1].upper() + text[1:] for text in (study.summary, study.remarks) if text]
    caption = textwrap.fill("  ".join(f"{text.rstrip('.')}." for text in sentences), 100)
    text = f"{table(_SUMMARY, lines).text()}\n\n{textwrap.fill(_NOTE, 96)}"
    return Report((), [], text, f"{caption}\n")


def _error(rows: Sequence[Row]) -> str:
    errors = [row["error"] for row in rows]
    spread = statistics.stdev(errors) if len(errors) > 1 else None
    return plus_minus(statistics.mean(errors), spread)


def _share(column: str) -> Callable[[Sequence[Row]], str]:
    def share(rows: Sequence[Row]) -> str:
        return f"{100 * values(rows, column).sum() / values(rows, 'n_weights').sum():.0f} %"

    return share


def _mean_support(rows: Sequence[Row]) -> str:
    support = values(rows, "n_support")
    return f"{support.mean():.1f}" if len(support) else MISSING


def _largest_gap(rows: Sequence[Row]) -> str:
    gap = largest(rows, "relative_gap")
    return MISSING if gap is None else f"{100 * gap:.2g} %"


def _median_time(rows: Sequence[Row]) -> str:
    times = values(rows, "seconds")
    return f"{np.median(times):.2f} s" if len(times) else MISSING


def _n_train(rows: Sequence[Row]) -> str:
    return str(round(statistics.mean(row["n_train"] for row in rows)))


_SUMMARY = [
    Column("data", "rows", lambda rows: rows[0]["data"]),
    Column("train", "rows", _n_train, right=True),
    Column("model", "rows", lambda rows: rows[0]["model"]),
    Column("test error", "rows", _error, right=True),
    Column("fits", "rows", lambda rows: str(len(rows)), right=True),
    Column("non-zero", "rows", _share("n_nonzero"), right=True),
    Column("large", "rows", _share("n_large"), right=True),
    Column("support", "rows", _mean_support, right=True),
    Column("gap", "rows", _largest_gap, right=True),
    Column("time", "rows", _median_time, right=True),
]
_NOTE = (
    "non-zero, large: weights that are not zero, and that are at least 1 % of the largest.  "
    "support: wrong labellings per training sample with positive dual variables.  gap: the largest; "
    "time: the median."
)
