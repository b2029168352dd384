"""The decorators of all kernels.

A kernel is a function over C-contiguous arrays and scalars, compiled when it is first called and
kept on disk (`medn_edu.kernels.cache` says where).  It releases the interpreter's lock, so that
threads work side by side, and divides as numpy does, without a test for zero that would keep loops
from being vectorised.  It goes without the wrapper for calls from C, which would take a twelfth of the
time to compile.  ``NUMBA_DISABLE_JIT=1`` leaves plain Python.
"""

from collections.abc import Callable
from typing import Any, NoReturn, TypeVar, cast

import numba
from numba.core.registry import CPUDispatcher

from medn_edu.kernels.cache import KernelCache

_Function = TypeVar("_Function", bound=Callable)
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}


class _InnerDispatcher(CPUDispatcher):
    """Compiled code that Python cannot call: without this class the process would end there."""

    def __call__(self, *arguments: Any) -> NoReturn:
        raise TypeError(f"{self.__name__} is compiled for other kernels, not for calls from Python")


def kernel(function: _Function) -> _Function:
    """Compile a function with numba."""
    return _compiled(function)


def inner_kernel(function: _Function) -> _Function:
    """Compile a function that only other kernels call.

    It has no wrapper for calls from Python, which would take as long to compile as the function.
    """
    compiled = _compiled(function, no_cpython_wrapper=True)
    if compiled is not function:
        compiled.__class__ = _InnerDispatcher
    return compiled


def inlined_kernel(function: _Function) -> _Function:
    """Compile a function into each kernel that calls it, with the arguments known there as constants."""
    return _compiled(function, no_cpython_wrapper=True, forceinline=True)


def _compiled(function: _Function, **options: Any) -> _Function:
    compiled = numba.njit(**_OPTIONS, **options)(function)
    if compiled is not function:
        compiled._cache = KernelCache(function)  # what cache=True does, with a cache of numba's own
    return cast(_Function, compiled)
