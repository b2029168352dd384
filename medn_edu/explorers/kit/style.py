"""One look for all figures, and how figures are made and saved.

Figures come from `new_figure`, without pyplot and so without global state, and draw themselves in
the style of ``medn.mplstyle``.  Wrap titles, legends and other drawing of your own in ``with
styled():``.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from medn_edu.explorers.kit import palette
from medn_edu.files import write_atomically

STYLE_FILE = Path(__file__).with_name("medn.mplstyle")
"""The style sheet; usable with ``plt.style.use`` too."""

INK = "#22303C"
"""Colour of text and handwriting."""
MUTED = "#66727E"
"""Colour of what stands in the background."""
ERROR = "#BF5000"
"""Colour of errors: a vermilion that is dark enough for text.  A shape marks errors as well."""

INK_ON_PAPER = LinearSegmentedColormap.from_list("ink_on_paper", ["#F4F1EA", INK])
"""Colour map for handwriting."""

SIGNED = LinearSegmentedColormap.from_list(
    "signed",
    ["#7A3803", palette.VERMILION, "#F3C9A5", "#FAFAFA", "#A9CFE6", palette.BLUE, "#08395C"],
).with_extremes(bad="#FFFFFF")
"""Colour map for weights: vermilion below zero, near white at zero, blue above."""

_SERIES: dict[str, dict[str, Any]] = {
    "M3N": {"color": palette.BLUE, "linestyle": "-", "marker": "o"},
    "L2-CRF": {"color": palette.ORANGE, "linestyle": "--", "marker": "s"},
    "CRF": {"color": palette.SLATE, "linestyle": ":", "marker": "^"},
    "L1-CRF": {"color": palette.PINK, "linestyle": (0, (5, 1, 1, 1, 1, 1)), "marker": "v"},
    "L1-M3N": {"color": palette.SKY, "linestyle": (0, (8, 2)), "marker": "P"},
    "LapMEDN": {"color": palette.GREEN, "linestyle": "-.", "marker": "D"},
    "LapMEDN variational": {"color": palette.PURPLE, "linestyle": (0, (3, 1)), "marker": "X"},
    "epsilon-M3N": {"color": palette.BROWN, "linestyle": (0, (1, 0.6)), "marker": "p"},
    "elastic CRF": {"color": palette.VERMILION, "linestyle": (0, (2, 1)), "marker": "<"},
    "elastic M3N": {"color": palette.INDIGO, "linestyle": (0, (4, 1, 1, 1)), "marker": ">"},
    "path": {"color": palette.GREEN, "linestyle": "-", "marker": "D"},
    "cutting plane": {"color": palette.ORANGE, "linestyle": "--", "marker": "s"},
    "sub-gradient": {"color": palette.PINK, "linestyle": (0, (5, 1, 1, 1, 1, 1)), "marker": "v"},
    "online sub-gradient": {"color": palette.SLATE, "linestyle": ":", "marker": "^"},
    "EM": {"color": palette.BLUE, "linestyle": "-", "marker": "o"},
    "per letter": {"color": palette.GREY, "linestyle": (0, (2, 2)), "marker": "d"},
}
# Ways to train a model, told by the end of the name: the model's own style, a little changed.  What
# stops early is dotted, as half a marker is little to see where many curves lie close together.
_STOPPED = {"linestyle": (0, (1, 1.3)), "fillstyle": "left", "markerfacecoloralt": "white"}
_VARIANTS: dict[str, dict[str, Any]] = {
    **{f" {passes} passes": _STOPPED for passes in (5, 20, 60, 200)},
    " sub-gradient": _STOPPED,
    " online sub-gradient": _STOPPED,
    " at its optimum": {"markerfacecolor": "white"},
    ", C = 1": {"markerfacecolor": "white"},
    ", six lam": {"markerfacecolor": "white"},
    ", no edges": {"markerfacecolor": "white"},
    ", ancestors": {"markerfacecolor": "white"},
    " EM": {"markerfacecolor": "white", "marker": "h"},
    " EM, 3 rounds": _STOPPED | {"marker": "h"},
    " thresholded": {"markerfacecolor": "white", "linestyle": (0, (1, 1.3))},
}
_LOCK = threading.RLock()


@contextmanager
def styled() -> Iterator[None]:
    """Draw with the style of the package; matplotlib's settings are put back afterwards.

    Matplotlib keeps one set of settings for the whole process, so threads take turns.

    Examples
    --------
    >>> import matplotlib
    >>> with styled():
    ...     inside = matplotlib.rcParams["axes.titlelocation"]
    >>> inside
    'left'
    """
    with _LOCK, mpl.rc_context(_settings()):
        yield


@cache
def _settings() -> dict[str, Any]:
    return dict(mpl.rc_params_from_file(STYLE_FILE, use_default_template=False))


class _StyledFigure(Figure):
    """A figure that makes its axes and draws itself in the style (ticks are made when drawn)."""

    def add_subplot(self, *args: Any, **kwargs: Any) -> Any:
        with styled():
            return super().add_subplot(*args, **kwargs)

    def add_axes(self, *args: Any, **kwargs: Any) -> Any:
        with styled():
            return super().add_axes(*args, **kwargs)

    def draw(self, renderer: Any) -> None:
        with styled():
            super().draw(renderer)

    def savefig(self, *args: Any, **kwargs: Any) -> None:
        with styled():
            super().savefig(*args, **kwargs)


def new_figure(width: float = 8.0, height: float = 4.5) -> Figure:
    """Return an empty figure.

    Parameters
    ----------
    width, height : float
        Size in inches; text keeps its size in points.

    Returns
    -------
    matplotlib.figure.Figure
        A figure that no other code holds.

    Examples
    --------
    >>> new_figure(4, 3).get_size_inches().tolist()
    [4.0, 3.0]
    """
    with styled():
        return _StyledFigure(figsize=(width, height))


def save_figure(figure: Figure, path: str | Path) -> Path:
    """Save a figure in one step.  The same picture always gives the same bytes.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        The figure.
    path : str or Path
        File to write; its suffix (``.png``, ``.svg``, ``.pdf``) chooses the format.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    OSError
        If the file cannot be written.
    """
    path = Path(path)
    kind = path.suffix.lstrip(".").lower()
    dates = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
    buffer = BytesIO()
    with styled():
        figure.savefig(buffer, format=kind, metadata=dates.get(kind))
    return write_atomically(path, buffer.getvalue())


def series_style(name: str) -> dict[str, Any]:
    """Return colour, line style and marker of a model, the same in every figure.

    Parameters
    ----------
    name : str
        Name of the model; ``"M3N 20 passes"`` is M3N dotted and with half-filled markers, ``"M3N at its
        optimum"`` and ``"M3N, mean slack"`` with hollow ones.  Models that have no style of their own
        share a grey one.

    Returns
    -------
    dict
        Keyword arguments for ``ax.plot``.

    Examples
    --------
    >>> series_style("M3N")["marker"]
    'o'
    >>> series_style("M3N 20 passes")["fillstyle"]
    'left'
    """
    other = {"color": MUTED, "linestyle": (0, (1, 1)), "marker": "*"}
    if name in _SERIES:
        return dict(_SERIES[name])
    name, sum_or_mean, _ = name.partition(", mean slack")
    if sum_or_mean and name in _SERIES:
        return {**_SERIES[name], "linestyle": ":", "markerfacecolor": "white"}
    for ending, variant in _VARIANTS.items():
        if name.endswith(ending) and name.removesuffix(ending) in _SERIES:
            return {**_SERIES[name.removesuffix(ending)], **variant}
    return other
