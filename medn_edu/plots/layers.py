"""Pictures that follow each other, quickly: what stands still is drawn once.

Most of a figure never moves: axes, ticks, labels, legends.  Drawing them takes most of the time, so
`Layers` keeps them as two pictures and draws only the artists that have moved between them:

1. *below*: all that stands still and is drawn before the first artist that moves;
2. what moves, and curves and shapes that stand still among it;
3. *above*: words, ticks and legends that stand still and are drawn later.

Matplotlib marks an artist as stale when it is changed, so nobody has to say what moves: it is found
out when it happens.  An axes whose limits change is drawn anew as a whole from then on, and so is a
figure in three dimensions.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.spines import Spine
from matplotlib.text import Text
from PIL import Image

from medn_edu.plots.style import styled

__all__ = ["Layers"]

_WORDS = (Axis, Legend, Spine, Text)


class Layers:
    """Renders one figure again and again.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        The figure; its layout must be settled.
    dpi : float
        Pixels an inch.

    Examples
    --------
    >>> from medn_edu.plots import new_figure
    >>> figure = new_figure(2, 1)
    >>> (line,) = figure.subplots().plot([0, 1], [0, 1])
    >>> layers = Layers(figure, dpi=20)
    >>> pictures = []
    >>> for height in (1, 0.5):
    ...     layers.watch()
    ...     line.set_ydata([0, height])
    ...     pictures.append(layers.render())
    >>> pictures[0] == pictures[1]
    False
    """

    def __init__(self, figure: Figure, dpi: float) -> None:
        figure.set_dpi(dpi)
        self._figure = figure
        self._canvas = FigureCanvasAgg(figure)
        self._moving: set[Artist] = set()
        self._still: set[Artist] = set()
        self._drawn: tuple[Any, Image.Image] | None = None
        self._seen: dict[Axes, tuple[Any, ...]] = {}

    def watch(self) -> None:
        """Forget earlier changes; call it before the artists are changed."""
        for artist in self._figure.findobj(include_self=False):
            artist.stale = False
        self._seen = {axes: _state(axes) for axes in self._figure.axes}

    def render(self) -> bytes:
        """Return the figure as PNG.

        Returns
        -------
        bytes
            The picture.
        """
        if all(axes.name == "rectilinear" for axes in self._figure.axes):
            picture = self._composed()
        else:  # in three dimensions the order of drawing depends on the view
            self._canvas.draw()
            picture = self._picture()
        buffer = io.BytesIO()
        picture.convert("RGB").save(buffer, "png", compress_level=1)
        return buffer.getvalue()

    def _composed(self) -> Image.Image:
        """Draw what moves between the two layers."""
        units = self._units()
        if self._notice(units) or self._drawn is None:
            self._drawn = self._draw_layers(units)
        below, above = self._drawn
        self._canvas.restore_region(below)
        renderer = self._canvas.get_renderer()
        with styled():
            for artist in self._sorted_out(units)[0]:
                artist.draw(renderer)
        picture = self._picture()
        picture.alpha_composite(above)
        return picture

    def _units(self) -> list[list[Artist]]:
        """Return what can be drawn one by one: of every axes, then of the figure."""
        groups = [list(_units(axes)) for axes in self._figure.axes if axes.get_visible()]
        return [*groups, list(_figure_units(self._figure))]

    def _notice(self, units: list[list[Artist]]) -> bool:
        """Find out what moves; return whether the layers show something that stands still no more."""
        present = {unit for group in units for unit in group}
        zoomed = {
            unit
            for axes in self._figure.axes
            if _state(axes)[0] != self._seen.get(axes, (None,))[0]
            for unit in _units(axes)
        }
        changed = {unit for unit in present if unit in zoomed or _changed(unit)}
        self._moving = (self._moving | changed) & present
        kept = {axes: state[1:] for axes, state in self._seen.items()}
        same = kept == {axes: _state(axes)[1:] for axes in self._figure.axes}
        return not (same and self._still <= present - self._moving)

    def _draw_layers(self, units: list[list[Artist]]) -> tuple[Any, Image.Image]:
        """Draw what stands still, below and above what moves."""
        between, above = self._sorted_out(units)
        left_out = [*between, *above]
        self._still = {unit for group in units for unit in group} - self._moving
        for artist in left_out:
            artist.set_animated(True)
        self._canvas.draw()  # leaves them out
        for artist in left_out:
            artist.set_animated(False)
        below = self._canvas.copy_from_bbox(self._figure.bbox)
        renderer = self._canvas.get_renderer()
        renderer.clear()
        with styled():
            for artist in above:
                artist.draw(renderer)
        return below, self._picture()

    def _sorted_out(self, units: list[list[Artist]]) -> tuple[list[Artist], list[Artist]]:
        """Return what is drawn for every picture, and what stands still above it."""
        between: list[Artist] = []
        above: list[Artist] = []
        for group in units:
            ordered = sorted(group, key=lambda unit: unit.get_zorder())
            moves = [unit in self._moving for unit in ordered]
            first = moves.index(True) if any(moves) else len(ordered)
            for unit in ordered[first:]:
                still = isinstance(unit, _WORDS) and unit not in self._moving
                (above if still else between).append(unit)
        return between, above

    def _picture(self) -> Image.Image:
        size = self._canvas.get_width_height()
        pixels = self._canvas.buffer_rgba()
        return Image.frombuffer("RGBA", size, pixels, "raw", "RGBA", 0, 1).copy()


def _units(axes: Axes) -> Iterator[Artist]:
    """Yield the parts of an axes that can be drawn one by one."""
    for child in axes.get_children():
        framed = isinstance(child, Axis | Spine)
        if child is not axes.patch and (axes.axison or not framed) and not isinstance(child, Axes):
            yield child


def _figure_units(figure: Figure) -> Iterator[Artist]:
    for child in figure.get_children():
        if child is not figure.patch and not isinstance(child, Axes):
            yield child


def _changed(unit: Artist) -> bool:
    return any(artist.stale for artist in unit.findobj())


def _state(axes: Axes) -> tuple[Any, ...]:
    """Return the limits of an axes, then whether and where it is seen."""
    limits = tuple(axes.viewLim.bounds)
    return limits, axes.get_visible(), axes.axison, tuple(axes.get_position().bounds)
