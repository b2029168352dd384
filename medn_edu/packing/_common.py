"""What the checks of samples and of labels have in common."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from medn_edu.structures import Forest

__all__ = ["MAGNITUDE", "as_list", "holds_complex"]

MAGNITUDE = 1e100  # squares of larger numbers, and sums of them, come near the end of float64


def as_list(value: Any, name: str, expected: str) -> list[Any]:
    if isinstance(value, (str, bytes, dict, Forest)) or sp.issparse(value):
        raise TypeError(f"{name} is a {type(value).__name__}; expected {expected}.")
    try:
        return list(value)
    except TypeError:
        raise TypeError(f"{name} is a {type(value).__name__}; expected {expected}.") from None


def holds_complex(array: Any) -> bool:
    """Tell complex numbers, whose imaginary parts numpy would drop with no more than a warning."""
    if array.dtype == object and not sp.issparse(array):
        return any(isinstance(value, complex | np.complexfloating) for value in array.flat)
    return bool(array.dtype.kind == "c")
