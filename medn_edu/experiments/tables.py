"""Tables: rows of results as CSV, Markdown and aligned text.

Rows are plain dictionaries.  Numbers are written so that the same results give the same bytes:
whole numbers as they are, others with ten significant digits, missing ones as nothing.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

__all__ = ["csv_text", "markdown_table", "read_csv", "text_table"]


def csv_text(rows: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> str:
    r"""Return rows as CSV, with a line of column names first.

    Parameters
    ----------
    rows : iterable of mappings
        The rows; what a row lacks is left empty.
    columns : sequence of str
        The columns, in order.

    Returns
    -------
    str
        The table, lines ended by a single newline character.

    Examples
    --------
    >>> csv_text([{"model": "M3N", "error": 1 / 3}], ["model", "error"])
    'model,error\nM3N,0.3333333333\n'
    """
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([_cell(row.get(column)) for column in columns])
    return buffer.getvalue()


def read_csv(text: str) -> list[dict[str, Any]]:
    r"""Read what `csv_text` wrote: numbers as numbers, empty cells as None.

    Parameters
    ----------
    text : str
        The table.

    Returns
    -------
    list of dict
        The rows.

    Raises
    ------
    ValueError
        If a row has more or fewer cells than there are columns.

    Examples
    --------
    >>> read_csv("model,error\nM3N,0.25\n")
    [{'model': 'M3N', 'error': 0.25}]
    """
    lines = list(csv.reader(io.StringIO(text)))
    if not lines:
        raise ValueError("the table is empty; expected at least a line of column names.")
    columns, *body = lines
    for number, line in enumerate(body, start=2):
        if len(line) != len(columns):
            raise ValueError(
                f"line {number} of the table has {len(line)} cells; expected {len(columns)}."
            )
    return [dict(zip(columns, map(_value, line), strict=True)) for line in body]


def text_table(
    headers: Sequence[str], rows: Iterable[Sequence[str]], *, right: Iterable[int] = ()
) -> str:
    """Return an aligned table for a console.

    Parameters
    ----------
    headers : sequence of str
        Column names.
    rows : iterable of sequences of str
        The cells.
    right : iterable of int
        Columns to align at the right (numbers).

    Returns
    -------
    str
        The table, with a rule below the column names.

    Examples
    --------
    >>> print(text_table(["model", "error"], [["M3N", "8 %"], ["L2-CRF", "10 %"]], right=[1]))
      model   error
      ──────  ─────
      M3N       8 %
      L2-CRF   10 %
    """
    lines = [list(headers), *[list(row) for row in rows]]
    widths = [max(len(line[c]) for line in lines) for c in range(len(headers))]
    at_right = set(right)

    def aligned(line: Sequence[str]) -> str:
        cells = [
            cell.rjust(width) if c in at_right else cell.ljust(width)
            for c, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        return ("  " + "  ".join(cells)).rstrip()

    rule = aligned(["─" * width for width in widths])
    return "\n".join([aligned(lines[0]), rule, *map(aligned, lines[1:])])


def markdown_table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown.

    Parameters
    ----------
    headers : sequence of str
        Column names.
    rows : iterable of sequences of str
        The cells.

    Returns
    -------
    str
        The table, ending with a newline character.

    Examples
    --------
    >>> print(markdown_table(["a", "b"], [["1", "2"]]), end="")
    | a | b |
    | --- | --- |
    | 1 | 2 |
    """
    lines = [list(headers), ["---"] * len(headers), *[list(row) for row in rows]]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return " ".join(value.split())
    if isinstance(value, (bool, int)):
        return str(value)
    value = float(value)
    return "" if math.isnan(value) else f"{value + 0.0:.10g}"  # no negative zero


def _value(cell: str) -> Any:
    if cell in ("True", "False"):
        return cell == "True"
    for kind in (int, float):
        try:
            number = kind(cell)
        except ValueError:
            continue
        if _cell(number) == cell:  # a text such as "1_000" stays a text
            return number
    return cell or None
