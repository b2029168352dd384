"""What the checks of samples and of labels have in common."""

from __future__ import annotations

from typing import Any

import scipy.sparse as sp

from medn_edu.structures import Forest

__all__ = ["MAGNITUDE", "as_list"]

MAGNITUDE = 1e100  # squares of larger numbers, and sums of them, come near the end of float64


def as_list(value: Any, name: str, expected: str) -> list[Any]:
    """Return what a sequence holds; a data frame would only tell the names of its columns."""
    odd = isinstance(value, (str, bytes, dict, Forest)) or hasattr(value, "columns")
    try:
        if odd or sp.issparse(value):
            raise TypeError
        return list(value)
    except TypeError:
        raise TypeError(f"{name} is a {type(value).__name__}; expected {expected}.") from None
