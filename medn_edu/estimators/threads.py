"""One thread for BLAS while a model is trained or asked.

The threads of a model are those of ``n_jobs``, each with samples of its own.  BLAS would start one per
processor on top, in each of them.  They gain nothing on vectors, wait for each other by spinning, and
round differently.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

_lock = threading.Lock()
_n_inside = 0
_outside: Any = None  # the limits that hold outside, to be restored


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep BLAS to one thread.

    The setting belongs to the process, while models may be fitted in several of its threads at a time:
    the first to come stores it and the last to leave restores it.
    """
    global _n_inside, _outside
    blas = _blas()
    with _lock:
        if _n_inside == 0:
            _outside = blas.limit(limits=1)
        _n_inside += 1
    try:
        yield
    finally:
        with _lock:
            _n_inside -= 1
            if _n_inside == 0:
                _outside.restore_original_limits()
            # threadpoolctl heeds one thread at a time; the end of a block makes way for the next.
            with blas.limit(limits=None):
                pass


@cache
def _blas() -> ThreadpoolController:
    """Look for libraries once, because that takes as long as a small fit.

    Those of numpy and scipy, which are all that training uses, are loaded by now.
    """
    import scipy.linalg  # noqa: F401  loads scipy's BLAS

    return ThreadpoolController().select(user_api="blas")
