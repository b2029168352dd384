"""What a study consists of: specs, one per fit, each with a key that names it for good."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Row = dict[str, Any]
Draw = Callable[[Sequence[Row], Path], Any]

TIMES = ("seconds", "cpu_seconds")
"""Columns of times, by the clock and of the processor, which differ from run to run."""


@dataclass(frozen=True, order=True)
class FitSpec:
    """One fit: a model with its parameters on one part of the data, or a part of a picture."""

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

    X_train: Any  # a list, or samples that are packed already
    y_train: list[Any]
    X_test: Any  # alike
    y_test: list[Any]


@dataclass(frozen=True)
class Report:
    """What a study says about its fits, beyond the raw results."""

    columns: tuple[str, ...]  # columns of the table; without any no table is written
    rows: list[Row]
    text: str  # the same for a console
    caption: str  # what figure and table show, in Markdown
    captions: Mapping[str, str] = field(default_factory=dict)  # of further figures, by name


@dataclass(frozen=True)
class Study:
    """A named study: which fits it makes, and how their rows become figures, a table, a caption.

    Most studies train models: their ``fit`` is a `medn_edu.studies.kit.trained.Trained`.  The fits of
    others compute a panel, watch a solver or try a statement, one after the other in this process;
    these studies name the columns of their rows.
    """

    name: str  # name on the command line
    summary: str  # what it asks, in a line
    fits: Callable[[str, int], Sequence[FitSpec]]  # ``fits(scale, seed)``
    fit: Any  # ``fit(spec)`` returns a row, or several
    draw: Draw
    report: Callable[[Sequence[Row], str], Report] | None = None
    columns: tuple[str, ...] = ()  # of the rows, if nothing is trained
    remarks: str = ""  # what readers of the results should know
    duration: str = ""  # how long it takes at each scale, on two processors
    shows: str = ""  # which figures of the papers these are
    more_figures: Mapping[str, Draw] = field(default_factory=dict)  # further figures by name
    unit: str = "fits"  # what progress counts
    generated: bool = False  # data that each process makes anew, so that none can be missing
    scaled: bool = True  # whether scale and seed make a difference: to formulas they do not
    revision: int = 1  # a new one makes all fits anew
    place: int = 100  # where it stands in lists, from small to large

    @property
    def trains(self) -> bool:
        """Whether its fits train models, so that several can be made at a time."""
        return hasattr(self.fit, "models")

    @property
    def models(self) -> Mapping[str, Any]:
        """The models that it may train, by name."""
        return self.fit.models if self.trains else {}

    @property
    def row_columns(self) -> tuple[str, ...]:
        """The columns that a fit fills."""
        return self.fit.columns if self.trains else self.columns

    @property
    def figures(self) -> dict[str, Draw]:
        """All figures by name; the first is called figure."""
        return {"figure": self.draw, **self.more_figures}

    def settings(self, spec: FitSpec) -> str:
        """Return what a fit depends on in addition to its key: defaults and tolerances may change."""
        texts = [self.fit.settings(spec)] if self.trains else []
        return " ".join([*texts, *([f"revision={self.revision}"] if self.revision > 1 else [])])


def panels(study: str, names: Sequence[str]) -> Callable[[str, int], list[FitSpec]]:
    """Return the fits of a study of formulas: its panels, the same at every scale and seed."""
    return lambda scale, seed: [FitSpec(study, 0, name) for name in names]


def caption_only(study: str, caption: str) -> Callable[[Sequence[Row], str], Report]:
    """Return the report of a study of formulas, which is only its caption."""
    return lambda rows, scale: Report((), [], f"{study}: {len(rows)} points.", caption)
