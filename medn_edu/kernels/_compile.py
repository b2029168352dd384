"""The one decorator of all kernels.

A kernel is a function over C-contiguous arrays and scalars, compiled when it is first called and
kept on disk (`medn_edu.kernels._cache` says where).  It releases the interpreter's lock, so that
threads over chunks of samples run side by side, and divides as numpy does, without a test for zero
that would keep loops from being vectorised.  Nothing calls it from C, so that it goes without the
wrapper for that, which would take a twelfth of the time to compile.  ``NUMBA_DISABLE_JIT=1`` leaves
plain Python.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

from medn_edu.kernels._cache import KernelCache

__all__ = ["inlined_kernel", "kernel"]

_Function = TypeVar("_Function", bound=Callable)
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}


def kernel(function: _Function) -> _Function:
    """Compile a function with numba, or leave it plain Python under ``NUMBA_DISABLE_JIT=1``."""
    return _compiled(function)


def inlined_kernel(function: _Function) -> _Function:
    """Compile a function into its callers: for small ones that are handed bundles of many arrays.

    Passing on such a bundle costs more than a short loop.
    """
    return _compiled(function, forceinline=True)


def _compiled(function: _Function, **options: Any) -> _Function:
    compiled = numba.njit(**_OPTIONS, **options)(function)
    if compiled is not function:
        compiled._cache = KernelCache(function)  # what cache=True does, with a cache of numba's own
    return cast(_Function, compiled)
