"""From dense rows to compressed sparse ones: what is left when the zeros are dropped.

Every entry is written to the next free place, but only one that is not zero moves that place on.  So no
branch depends on the data, which a processor would often guess wrong in handwriting, where strokes are
neither rare nor regular.  The price is room for all entries.
"""

from medn_edu.kernels.compile import kernel


@kernel
def compress_rows(dense, data, indices, row_ends):
    """Write the values of ``dense`` that are not zero, and their columns, row after row.

    ``data`` and ``indices`` have room for all entries of ``dense``; row ``t`` ends before
    ``row_ends[t]``.  NaN is not zero.  Returns the number of values that were written.
    """
    n_rows, n_columns = dense.shape
    n = 0
    for t in range(n_rows):
        for column in range(n_columns):
            value = dense[t, column]
            data[n] = value
            indices[n] = column
            n += value != 0.0
        row_ends[t] = n
    return n
