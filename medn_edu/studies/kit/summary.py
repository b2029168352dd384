"""What reports of studies have in common: groups of rows, means, differences, curves and tables.

Rows are plain dictionaries, one per fit.  A report groups them by what was varied (the model, its
constant, how many samples train), averages over what was drawn (data sets, folds), and writes what it
finds as a table for the console and for Markdown.
"""

import functools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from medn_edu.intervals import bootstrap_means, deviation, half_interval, student_quantile

Row = Mapping[str, Any]
By = str | Callable[[Any], Any]
"""A column, or a function of the row."""

MISSING = "–"
"""What stands in a table where there is no value."""


# -- groups and values ----------------------------------------------------------------------------


def groups(
    rows: Iterable[Row], *by: By, order: Callable[[Any], Any] | None = None
) -> dict[Any, list[Any]]:
    """Return the rows of each value of a column, or of each tuple of values of several.

    Groups are in the order in which they appear, unless ``order(key)`` says otherwise.
    """
    found: dict[Any, list[Any]] = {}
    for row in rows:
        key = tuple(_of(row, name) for name in by)
        found.setdefault(key if len(by) > 1 else key[0], []).append(row)
    return {key: found[key] for key in sorted(found, key=order)} if order else found


def values(rows: Iterable[Row], column: By) -> np.ndarray:
    """Return the numbers in a column, for the rows that have it."""
    found = [_of(row, column) for row in rows]
    return np.array([value for value in found if not _is_missing(value)], dtype=float)


def word_parts(row: Row) -> np.ndarray | None:
    """Return the parts of the different words in the error of a row, or None if not stored."""
    if _is_missing(row.get("error")) or not row.get("word_errors"):
        return None
    return np.asarray(row["error"] * _shares(row["word_errors"]))


@functools.lru_cache(maxsize=2**14)  # the ledger asks for each of them many times
def _shares(word_errors: str) -> np.ndarray:
    wrong = numbers(word_errors)
    return np.asarray(wrong / max(wrong.sum(), 1.0))


def scores(rows: Iterable[Row], column: By = "error") -> np.ndarray:
    """Return the numbers of a column, or a line for each row with the parts of different words.

    These parts sum to the error.  They are returned only if all rows have them.
    """
    rows = _with(rows, column) if isinstance(column, str) else list(rows)
    parts = [word_parts(row) for row in rows] if column == "error" else []
    known = [part for part in parts if part is not None]
    if len({len(part) for part in known}) > 1:
        raise ValueError(
            "word_errors count different numbers of words; expected the same in all rows."
        )
    return np.array(known) if known and len(known) == len(rows) else values(rows, column)


def mean(rows: Iterable[Row], column: By) -> float | None:
    """Return the mean of a column; None if no row has it."""
    found = values(rows, column)
    return float(found.mean()) if len(found) else None


def largest(rows: Iterable[Row], column: By) -> float | None:
    """Return the largest value of a column; None if no row has it."""
    return max(map(float, values(rows, column)), default=None)


def most(groups: Iterable[Sequence[Any]]) -> int:
    """Return the size of the largest group, which says how many fits a mean is taken over."""
    return max(map(len, groups), default=0)


def _of(row: Row, by: By) -> Any:
    return row.get(by) if isinstance(by, str) else by(row)


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


# -- means and differences ------------------------------------------------------------------------


@dataclass(frozen=True)
class Mean:
    """A mean of independent values, with their scatter."""

    value: float  # not a number of no values
    deviation: float | None  # of the values; None of a single one, which does not tell
    n: int
    half: float | None  # half the width of the 95 % interval of the mean, which is drawn around it

    @property
    def sign(self) -> int:
        """The sign of the mean where its interval does not hold 0, otherwise 0."""
        is_sure = self.half is not None and abs(self.value) > self.half
        return int(np.sign(self.value)) if is_sure else 0


def mean_of(found: ArrayLike) -> Mean:
    """Return the mean of some values, with their scatter and its interval.

    The interval is Student's.  For a table of differences with a column for each word, it is that of
    the bootstrap over lines and words, unless Student's is longer, as it is for few lines.
    """
    found = np.asarray(found, dtype=float)
    totals = found.sum(axis=1) if found.ndim == 2 else found
    value = float(totals.mean()) if len(totals) else math.nan
    spread = deviation(totals)
    half = None if spread is None else half_interval(totals)
    if found.ndim == 2 and half is not None:
        low, high = np.quantile(bootstrap_means(found), [0.025, 0.975])
        half = max(half, float(high - low) / 2)
    return Mean(value, spread, len(totals), half)


def pairs(
    rows: Iterable[Row], others: Iterable[Row], by: Sequence[By] = ("data", "fold")
) -> list[tuple[Any, Any]]:
    """Return each row with the one of the others that has the same data and fold, if there is one."""

    def unit(row: Row) -> tuple[Any, ...]:
        return tuple(_of(row, name) for name in by)

    known = {unit(other): other for other in others}
    return [(row, known[unit(row)]) for row in rows if unit(row) in known]


def differences(
    rows: Iterable[Row],
    others: Iterable[Row],
    column: str = "error",
    by: Sequence[By] = ("data", "fold"),
) -> np.ndarray:
    """Return by how much rows exceed the others on the same data and fold.

    A hard fold is hard for all models, so differences vary less than errors.  If all rows have the
    parts of words, there is a line for each pair of rows, with their parts (`scores`).
    """
    both = pairs(_with(rows, column), _with(others, column), by)
    mine, theirs = (scores([pair[k] for pair in both], column) for k in (0, 1))
    if mine.ndim != theirs.ndim:
        mine, theirs = (values([pair[k] for pair in both], column) for k in (0, 1))
    return mine - theirs


def _with(rows: Iterable[Row], column: str) -> list[Any]:
    return [row for row in rows if not _is_missing(row.get(column))]


# -- curves ---------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Curve:
    """Means over fits against the quantity that was varied; all arrays are of the same length."""

    name: str  # of the model, which decides colour and marker
    x: np.ndarray  # ascending
    mean: np.ndarray
    deviation: np.ndarray  # 0 of a single fit
    n: np.ndarray  # how many fits


def curve(name: str, rows: Iterable[Row], x: By, column: By = "error") -> Curve:
    """Average a column at each value of ``x``; where no row has it there is no point."""
    found = groups(rows, x, order=lambda value: value).items()
    points = {place: some for place, group in found if len(some := values(group, column))}
    return Curve(
        name,
        np.array(list(points)),
        np.array([some.mean() for some in points.values()]),
        np.array([deviation(some) or 0.0 for some in points.values()]),
        np.array([len(some) for some in points.values()], dtype=int),
    )


def curves(rows: Iterable[Row], x: By = "n_train", column: By = "error") -> list[Curve]:
    """Return the curve of each model, in order of appearance."""
    found = [curve(name, group, x, column) for name, group in groups(rows, "model").items()]
    return [one for one in found if len(one.x)]


def curves_less(rows: Iterable[Row], reference: str, x: By = "n_train") -> list[Curve]:
    """Subtract the errors of one model on the same data and fold, then average."""
    known = _with(rows, "error")
    both = pairs(
        [row for row in known if row["model"] != reference],
        [row for row in known if row["model"] == reference],
    )
    return curves([{**row, "error": row["error"] - other["error"]} for row, other in both], x)


def with_intervals(curve: Curve) -> Curve:
    """Put half the 95 % interval of the mean (Student's) in place of the standard deviation.

    The deviation tells how far a single fit is from the mean, the interval how far the mean is from
    what infinitely many fits would give.
    """
    n = np.maximum(curve.n, 2)  # of a single fit, whose deviation is 0
    return replace(curve, deviation=student_quantile(n - 1) * curve.deviation / np.sqrt(n))


# -- what a cell of the results holds -------------------------------------------------------------


def constants_text(constants: Iterable[tuple[str, float]]) -> str:
    """Write constants for a table: ``C=1 tol=0.02``."""
    return " ".join(f"{name}={value:.10g}" for name, value in constants)


@functools.lru_cache(maxsize=4096)  # a table has few different ones
def read_constants(text: str | None) -> tuple[tuple[str, float], ...]:
    """Read what `constants_text` wrote."""
    parts = [word.partition("=") for word in (text or "").split()]
    return tuple((name, float(value)) for name, _, value in parts)


def constant(row: Row, name: str) -> float | None:
    """Return one of the constants of a fit."""
    return dict(read_constants(row.get("parameters"))).get(name)


def numbers_text(found: ArrayLike, spec: str = ".5g") -> str:
    """Write several numbers into one cell."""
    return " ".join(f"{value:{spec}}" for value in np.ravel(found))


def numbers(text: Any) -> np.ndarray:
    """Read what `numbers_text` wrote; a single one was read as a number already."""
    return np.array([float(word) for word in str(text).split()])


def matrix(rows: Iterable[Row], column: str) -> np.ndarray:
    """Return the numbers in the cells of a column, a line for each row that has them."""
    return np.array([numbers(row[column]) for row in rows if row.get(column) is not None])


def is_at_end(value: float | None, grid: Sequence[float]) -> bool:
    """Say whether a value is the first or the last of those that were tried."""
    return value in (grid[0], grid[-1])


# -- tables ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Column:
    """A column of a table: what stands in each line, and how it is written."""

    title: str
    value: By
    form: str | Callable[[Any], str] = ""  # a format such as ".3f", or a function of the value
    right: bool = False  # whether cells of text tables end at the right

    def cell(self, line: Row) -> str:
        """Return what stands in a line."""
        value = _of(line, self.value)
        if _is_missing(value):
            return MISSING
        return format(value, self.form) if isinstance(self.form, str) else self.form(value)


@dataclass(frozen=True)
class Table:
    """Cells of text below their titles, for a console and for Markdown."""

    head: Sequence[str]
    cells: Sequence[Sequence[str]]
    right: Iterable[int] = ()  # columns whose cells end at the right

    def text(self) -> str:
        """Return the table for a console."""
        lines = [list(self.head), *map(list, self.cells)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        at_right = set(self.right)

        def aligned(line: Sequence[str]) -> str:
            cells = [
                cell.rjust(width) if place in at_right else cell.ljust(width)
                for place, (cell, width) in enumerate(zip(line, widths, strict=True))
            ]
            return ("  " + "  ".join(cells)).rstrip()

        rule = aligned(["─" * width for width in widths])
        return "\n".join([aligned(lines[0]), rule, *map(aligned, lines[1:])])

    def markdown(self) -> str:
        """Return the table in Markdown."""
        lines = [self.head, ["---"] * len(self.head), *self.cells]
        return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def table(columns: Sequence[Column], lines: Iterable[Row]) -> Table:
    """Return a table with one line each."""
    return Table(
        [column.title for column in columns],
        [[column.cell(line) for column in columns] for line in lines],
        [place for place, column in enumerate(columns) if column.right],
    )


def crossed(
    lines: Iterable[Row],
    by: Sequence[str],
    across: str,
    cell: Callable[[Any], str],
    title: str = "{}",
) -> Table:
    """Return a table with a line for each value of ``by`` and a column for each value of ``across``."""
    lines = list(lines)
    tops = sorted({line[across] for line in lines})
    found = {key: {line[across]: cell(line) for line in some} for key, some in _by(lines, by)}
    return Table(
        [*by, *(title.format(top) for top in tops)],
        [[*key, *(cells.get(top, MISSING) for top in tops)] for key, cells in found.items()],
        range(len(by), len(by) + len(tops)),
    )


def _by(lines: Iterable[Row], by: Sequence[str]) -> Iterable[tuple[tuple[str, ...], list[Row]]]:
    return groups(lines, lambda line: tuple(str(line[name]) for name in by)).items()


def plus_minus(
    value: float | None,
    spread: float | None,
    spec: str = ".3f",
    *,
    times: float = 1.0,
    sign: str = "",
    unit: str = "",
) -> str:
    """Write a value with its spread: ``0.123 ± 0.004``; for per cent, ``times`` is 100."""
    if value is None or math.isnan(value):
        return MISSING
    text = f"{times * value:{sign}z{spec}}{unit}"
    return text if spread is None else f"{text} ± {times * spread:{spec}}"


def percent(spec: str = ".1f") -> Callable[[float], str]:
    """Return what writes a share in per cent, as the form of a column."""
    return lambda share: f"{100 * share:{spec}} %"
