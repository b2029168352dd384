"""Many pictures on one page, each under its title."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping

from matplotlib.figure import Figure
from PIL import Image

from medn_edu.explorers.kit.style import new_figure, styled


def contact_sheet(pictures: Mapping[str, bytes], n_columns: int = 4, width: float = 12) -> Figure:
    """Return a page of pictures."""
    if not pictures:
        raise ValueError("a contact sheet needs pictures; expected at least one.")
    n_rows = math.ceil(len(pictures) / n_columns)
    figure = new_figure(width, n_rows * (0.72 * width / n_columns))
    places = figure.subplots(n_rows, n_columns, squeeze=False).ravel()
    for ax in places:
        ax.set_axis_off()
    for ax, (title, png) in zip(places, pictures.items(), strict=False):
        with Image.open(io.BytesIO(png)) as picture:
            ax.imshow(picture.convert("RGB"), interpolation="antialiased")
        ax.set_anchor("N")
        with styled():
            ax.set_title(title)
    return figure
