"""Every compiled function of the package; the only place that imports numba.

A *kernel* takes C-contiguous arrays, scalars and named tuples of them, and loops over packed samples
(see `medn_edu.samples`).  Checks and defaults are left to the callers.

* ``block_step.py``: one step of block-coordinate Frank-Wolfe.  It uses ``atoms.py`` (kept labellings),
  ``tilting.py`` (priors and slacks), ``line_search.py`` and ``bundles.py`` (the named tuples).
* ``maximize.py``, ``k_best.py``: the best labelling, and the k best.
* ``marginalize.py``, ``sampling.py``: sums over all labellings, and random ones.
* ``norm_product.py``, ``local_gradient.py``: messages on graphs with cycles, and what they say of the
  weights.  ``in_turn.py``: weights that move one after the other, given the messages.
* ``scores.py``, ``compress.py``: products of sparse features with weights; dense rows made sparse.
* ``compile.py``, ``cache.py``: the decorators, and where compiled code is kept.

Each has a readable twin in `medn_edu.theory`: the table in ``reference.py`` says which.
"""
