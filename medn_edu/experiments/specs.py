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
    from medn_edu.experiments.models import Model


@dataclass(frozen=True, order=True)
class FitSpec:
    """One fit: a model with its parameters on one part of the data.

    Parameters
    ----------
    data : str
        Name of the data and of how they are split.
    fold : int
        Which of the splits.
    model : str
        Name of the model.
    parameters : tuple of (name, value)
        Its parameters.
    seed : int
        Seed of all draws.
    after : str
        Key of the fit that chooses this one's constants; none unless given.

    Examples
    --------
    >>> FitSpec("ocr-100", 3, "M3N", (("C", 1.0),), seed=0).key
    'ocr-100/fold=3/M3N/C=1/seed=0'
    """

    data: str
    fold: int
    model: str
    parameters: tuple[tuple[str, float], ...] = ()
    seed: int = 0
    after: str = ""

    @property
    def key(self) -> str:
        """A text that tells this fit apart from all others, the same in every run."""
        parts = [self.data, f"fold={self.fold}", self.model]
        parts += [f"{name}={value:g}" for name, value in self.parameters]
        return "/".join([*parts, f"seed={self.seed}"])


@dataclass(frozen=True, eq=False)
class Split:
    """Data of one fit.

    Parameters
    ----------
    X_train, y_train, X_test, y_test : list
        Samples and label sequences; a fit that only chooses constants has nothing to test.
    """

    X_train: list[Any]
    y_train: list[Any]
    X_test: list[Any]
    y_test: list[Any]


@dataclass(frozen=True)
class Report:
    """What a study says of its fits, beyond the raw results.

    Parameters
    ----------
    columns : tuple of str
        Columns of the table.  No times, which differ from run to run, unless the study is about them.
    rows : list of dict
        The table.
    text : str
        The same for a console.
    caption : str
        What figure and table show, in Markdown; its first paragraph is about the figure alone.
    captions : mapping of str to str
        What each of the further figures shows, by its name, in a paragraph.
    """

    columns: tuple[str, ...]
    rows: list[dict[str, Any]]
    text: str
    caption: str
    captions: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Study:
    """A named study: which fits it makes, on what, and how its figure is drawn.

    Parameters
    ----------
    name : str
        Name on the command line.
    summary : str
        What it asks, in a line.
    specs : callable
        ``specs(scale, seed)`` returns the fits of ``"quick"`` or ``"paper"`` scale, from short to
        long.
    split : callable
        ``split(spec)`` returns the data of a fit.
    draw : callable
        ``draw(rows, path)`` draws the figure, or nothing if there is nothing to draw.  The rows are
        those of the results, with ``seconds`` and ``cpu_seconds`` that training took, where they are
        known.
    remarks : str
        What readers of the results should know.
    duration : str
        How long it takes at each scale, on two processors.
    models : mapping of str to Model, optional
        Models by name; those that are compared everywhere unless given.
    measured : tuple of str
        Columns of the results that ``measure`` fills.
    measure : callable, optional
        ``measure(spec, model)`` returns what else to keep of a trained model, as a dict.
    report : callable, optional
        ``report(rows, scale)`` sums the results up, instead of means over folds; rows as for ``draw``.
    more_figures : mapping of str to callable
        Further figures by name, drawn as by ``draw``.
    shows : str
        Which figures of the papers these are.
    revision : int, default=1
        Raise it when splits or measures change: rows of earlier revisions are then made again, which
        nothing else would tell from new ones.
    """

    name: str
    summary: str
    specs: Callable[[str, int], Sequence[FitSpec]]
    split: Callable[[FitSpec], Split]
    draw: Callable[[Sequence[dict[str, Any]], Path], None]
    remarks: str = ""
    duration: str = ""
    models: Mapping[str, Model] | None = None
    measured: tuple[str, ...] = ()
    measure: Callable[[FitSpec, Any], dict[str, Any]] | None = None
    report: Callable[[Sequence[dict[str, Any]], str], Report] | None = None
    more_figures: Mapping[str, Callable[[Sequence[dict[str, Any]], Path], None]] = field(
        default_factory=dict
    )
    shows: str = ""
    revision: int = 1


@dataclass(frozen=True)
class CurveStudy:
    """A named study that fits nothing: curves from formulas, the same at every scale and seed.

    Parameters
    ----------
    name : str
        Name on the command line.
    summary : str
        What it shows, in a line.
    columns : tuple of str
        Columns of its table.
    rows : callable
        ``rows()`` computes the table, one row per point of a curve.
    draw : callable
        ``draw(rows, path)`` draws the figure.
    caption : str
        What the figure shows, in a few sentences.
    duration : str
        How long it takes.
    shows : str
        Which figure of the papers it is.
    """

    name: str
    summary: str
    columns: tuple[str, ...]
    rows: Callable[[], list[dict[str, Any]]]
    draw: Callable[[Sequence[dict[str, Any]], Path], None]
    caption: str
    duration: str = ""
    shows: str = ""


@dataclass(frozen=True)
class TraceStudy:
    """A named study that watches something at work, in one go: a row for each look at it.

    Parameters
    ----------
    name : str
        Name on the command line.
    summary : str
        What it shows, in a line.
    columns : tuple of str
        Columns of its table, the same in every run.
    time_columns : tuple of str
        Columns of the table of times, which differ from run to run; none where times do not matter.
    trace : callable
        ``trace(scale, seed, progress)`` returns one row per look, with both kinds of columns;
        ``progress(n_done, n_all, what)`` is told how far things are.
    draw : callable
        ``draw(rows, path)`` draws the figure.
    report : callable
        ``report(rows, scale)`` sums the rows up.
    duration : str
        How long it takes at each scale.
    shows : str
        Which figure of the papers it is; none of them, unless given.
    unit : str
        What ``progress`` counts.
    more_figures : mapping of str to callable
        Further figures by name, drawn as by ``draw``.
    """

    name: str
    summary: str
    columns: tuple[str, ...]
    time_columns: tuple[str, ...]
    trace: Callable[[str, int, Callable[[int, int, str], Any]], list[dict[str, Any]]]
    draw: Callable[[Sequence[dict[str, Any]], Path], None]
    report: Callable[[Sequence[dict[str, Any]], str], Report]
    duration: str = ""
    shows: str = ""
    unit: str = "solvers"
    more_figures: Mapping[str, Callable[[Sequence[dict[str, Any]], Path], None]] = field(
        default_factory=dict
    )
