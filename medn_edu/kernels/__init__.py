"""Every compiled function of the package; the only place that imports numba.

A *kernel* takes C-contiguous arrays and scalars and loops over packed samples (see
`medn_edu.samples`).  Checks and defaults are left to the callers; readable twins of the kernels are in
`medn_edu.theory.reference`.
"""

from __future__ import annotations

from pathlib import Path

from medn_edu.kernels._cache import cache_folder, kept_in

with kept_in(cache_folder(Path(__file__).parent)):
    from medn_edu.kernels import (
        atoms,
        block_step,
        bundles,
        compress,
        k_best,
        line_search,
        marginalize,
        maximize,
        sampling,
        scores,
        textbook,
        tilting,
    )

__all__ = [
    "atoms",
    "block_step",
    "bundles",
    "compress",
    "k_best",
    "line_search",
    "marginalize",
    "maximize",
    "sampling",
    "scores",
    "textbook",
    "tilting",
]
