"""How far values scatter, and how certain their mean is: by Student's t, or by a bootstrap."""

import functools
import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit

__all__ = ["bootstrap_means", "deviation", "half_interval", "student_quantile"]


def deviation(values: ArrayLike) -> float | None:
    """Return the standard deviation of a few values, or None if there is only one.

    >>> deviation([1.0, 2.0, 3.0]), deviation([1.0])
    (1.0, None)
    """
    values = np.asarray(values, dtype=float)
    return float(values.std(ddof=1)) if len(values) > 1 else None


def half_interval(values: ArrayLike, level: float = 0.95, overlap: float = 0.0) -> float:
    """Return half the length of Student's confidence interval for the mean, with confidence ``level``.

    Errors in cross-validation depend on each other, because their training sets overlap.  ``overlap``,
    the number of test samples per training sample, makes the interval longer to account for this
    (Nadeau and Bengio, 2003).

    >>> round(half_interval([1.0, 2.0, 3.0]), 3)
    2.484
    >>> round(half_interval([1.0, 2.0, 3.0], overlap=1 / 2), 3)
    3.928
    """
    values = np.asarray(values, dtype=float)
    spread = deviation(values)
    if spread is None:
        return math.nan
    quantile = float(student_quantile(len(values) - 1, level))
    return quantile * spread * math.sqrt(1 / len(values) + overlap)


def student_quantile(freedom: Any, level: float = 0.95) -> Any:
    """Return how many standard errors Student's interval reaches to either side of a mean.

    ``freedom`` is the number of degrees of freedom, one less than the number of values.

    >>> round(float(student_quantile(9)), 3), round(float(student_quantile(1e6)), 3)
    (2.262, 1.96)
    """
    return stdtrit(freedom, (1 + level) / 2)


def bootstrap_means(table: ArrayLike) -> np.ndarray:
    """Resample the lines and the columns of a table 10,000 times, and return the sorted means.

    The cells of a line add up to one of the values to average, such as the error of a fold, split up by
    word.  Folds are trained on different words but tested on the same types of words, so their errors
    are not independent.  That is why columns are resampled too, independently of the lines.  A draw
    counts the cells of a column as often as the column is drawn, but divides by the original number of
    samples.  So it ignores that the drawn types may be a little longer or shorter in all.  This matters
    little for differences near zero, but makes intervals for the errors themselves too long.

    >>> means = bootstrap_means([[1.0, 2.0], [0.0, 3.0], [2.0, 1.0]])
    >>> means.shape, round(float(means.mean()), 1)
    ((10000,), 3.0)
    """
    table = np.asarray(table, dtype=float)
    if table.ndim != 2 or table.size == 0 or not np.isfinite(table).all():
        raise ValueError(
            f"table has the shape {table.shape}; expected finite numbers, at least one line and column."
        )
    lines, columns = _drawn(*table.shape)
    return np.sort((lines @ table * columns).sum(axis=1))


@functools.cache
def _drawn(n_lines: int, n_columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Return which share of each draw a line has, and how often a column is drawn."""
    rng = np.random.default_rng(0)
    lines, columns = (
        rng.multinomial(n, np.full(n, 1 / n), 10_000).astype(float) for n in (n_lines, n_columns)
    )
    return lines / n_lines, columns
