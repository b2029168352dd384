"""Tables of results as CSV.

Rows are plain dictionaries.  Numbers are written so that the same results give the same bytes:
whole numbers as they are, others with ten significant digits, missing ones as nothing.
"""

import csv
import functools
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_STARTS_OF_NUMBERS = ("-", "inf", *"0123456789")  # as `_cell` writes them, without "+" or " "


def csv_text(
    rows: Iterable[Mapping[str, Any]], columns: Sequence[str], *, exact: bool = False
) -> str:
    """Return rows as CSV, with a line of column names first; exact numbers have all their digits."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([_cell(row.get(column), exact) for column in columns])
    return buffer.getvalue()


def read_csv(
    text: str, ranges: Mapping[str, tuple[float, float]] | None = None, *, exact: bool = False
) -> list[dict[str, Any]]:
    """Read what `csv_text` wrote: numbers as numbers, empty cells as None."""
    reader = csv.reader(io.StringIO(text), strict=True)
    rows: list[dict[str, Any]] = []
    try:
        columns = next(reader, None)
        if columns is None:
            raise ValueError("the table is empty; expected at least a line of column names.")
        for number, line in enumerate(reader, start=2):
            if len(line) != len(columns):
                raise ValueError(
                    f"line {number} of the table has {len(line)} cells; expected {len(columns)}."
                )
            if reader.line_num != number:
                raise ValueError(f"line {number} of the table has a quotation mark too many.")
            values = [_value(cell, exact) for cell in line]
            rows.append(dict(zip(columns, values, strict=True)))
            _check_numbers(rows[-1], ranges or {}, number)
    except csv.Error as error:
        raise ValueError(f"line {reader.line_num} of the table cannot be read ({error}).") from None
    return rows


def _check_numbers(
    row: Mapping[str, Any], ranges: Mapping[str, tuple[float, float]], number: int
) -> None:
    for column, (low, high) in ranges.items():
        value = row.get(column)
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if value is not None and not (is_number and low <= value <= high):
            limits = "a number" if low == -math.inf else f"a number of at least {low:g}"
            if high < math.inf:
                limits = f"a number from {low:g} to {high:g}"
            raise damaged_cell(number, column, value, limits)


def damaged_cell(number: int, column: str, value: Any, expected: str) -> ValueError:
    """Return the error that says which cell of a table is wrong, and how."""
    shown = "empty" if value is None else repr(value)
    if len(shown) > 60:
        shown = f"{shown[:60]}..."
    return ValueError(f"line {number}, column {column}, is {shown}; expected {expected}.")


def _cell(value: Any, exact: bool) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return " ".join(value.replace("\0", " ").split())
    if isinstance(value, (bool, int)):
        return str(value)
    value = float(value)
    if math.isnan(value):
        return ""
    value += 0.0  # no negative zero
    return repr(value) if exact else f"{value:.10g}"


@functools.lru_cache(maxsize=2**16)  # most columns have few different values
def _value(cell: str, exact: bool) -> Any:
    if cell in ("True", "False"):
        return cell == "True"
    if cell.startswith(_STARTS_OF_NUMBERS):
        for kind in (float,) if "." in cell else (int, float):
            try:
                number = kind(cell)
            except ValueError:
                continue
            if _cell(number, exact) == cell:  # a text such as "1_000" stays a text
                return number
    return cell or None
