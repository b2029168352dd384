"""What a study consists of: specs, one per fit, each with a key that names it for good.

A study without fits, of curves that formulas give, is a `CurveStudy`; one that watches something at
work, solvers pass by pass or bounds draw by draw, is a `TraceStudy`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from medn_edu.studies.kit.models import Model


@dataclass(frozen=True, order=True)
class FitSpec:
    """One fit: a model with its parameters on one part of the data."""

    data: str  # name of the data and of how they are split
    fold: int  # which of the splits
    model: str  # name of the model
    parameters: tuple[tuple[str, float], ...] = ()
    seed: int = 0  # seed of all draws
    after: str = ""  # key of the fit that chooses this one's constants; none unless given

    @property
    def key(self) -> str:
        """A text that tells this fit apart from all others, the same in every run."""
        parts = [self.data, f"fold={self.fold}", self.model]
        parts += [f"{name}={value:g}" for name, value in self.parameters]
        return "/".join([*parts, f"seed={self.seed}"])


@dataclass(frozen=True, eq=False)
class Split:
    """Data of one fit."""

    X_train: list[Any]
    y_train: list[Any]
    X_test: list[Any]
    y_test: list[Any]


@dataclass(frozen=True)
class Report:
    """What a study says of its fits, beyond the raw results."""

    columns: tuple[str, ...]  # columns of the table
    rows: list[dict[str, Any]]
    text: str  # the same for a console
    caption: str  # what figure and table show, in Markdown
    captions: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Study:
    """A named study: which fits it makes, on what, and how its figure is drawn."""

    name: str  # name on the command line
    summary: str  # what it asks, in a line
    specs: Callable[[str, int], Sequence[FitSpec]]
    split: Callable[[FitSpec], Split]  # ``split(spec)`` returns the data of a fit
    draw: Callable[[Sequence[dict[str, Any]], Path], None]
    remarks: str = ""  # what readers of the results should know
    duration: str = ""  # how long it takes at each scale, on two processors
    models: Mapping[str, Model] | None = None  # models by name
    measured: tuple[str, ...] = ()  # columns of the results that ``measure`` fills
    measure: Callable[[FitSpec, Any], dict[str, Any]] | None = None
    report: Callable[[Sequence[dict[str, Any]], str], Report] | None = None
    more_figures: Mapping[str, Callable[[Sequence[dict[str, Any]], Path], None]] = field(
        default_factory=dict
    )  # further figures by name, drawn as by ``draw``
    shows: str = ""  # which figures of the papers these are
    revision: int = 1


@dataclass(frozen=True)
class CurveStudy:
    """A named study that fits nothing: curves from formulas, the same at every scale and seed."""

    name: str  # name on the command line
    summary: str  # what it shows, in a line
    columns: tuple[str, ...]  # columns of its table
    rows: Callable[[], list[dict[str, Any]]]
    draw: Callable[[Sequence[dict[str, Any]], Path], None]  # ``draw(rows, path)`` draws the figure
    caption: str  # what the figure shows, in a few sentences
    duration: str = ""  # how long it takes
    shows: str = ""  # which figure of the papers it is


@dataclass(frozen=True)
class TraceStudy:
    """A named study that watches something at work, in one go: a row for each look at it."""

    name: str  # name on the command line
    summary: str  # what it shows, in a line
    columns: tuple[str, ...]  # columns of its table, the same in every run
    time_columns: tuple[str, ...]  # columns of the table of times, which differ from run to run
    trace: Callable[[str, int, Callable[[int, int, str], Any]], list[dict[str, Any]]]
    draw: Callable[[Sequence[dict[str, Any]], Path], None]  # ``draw(rows, path)`` draws the figure
    report: Callable[[Sequence[dict[str, Any]], str], Report]
    duration: str = ""  # how long it takes at each scale
    shows: str = ""  # which figure of the papers it is; none of them, unless given
    unit: str = "solvers"  # what ``progress`` counts
    more_figures: Mapping[str, Callable[[Sequence[dict[str, Any]], Path], None]] = field(
        default_factory=dict
    )  # further figures by name, drawn as by ``draw``
