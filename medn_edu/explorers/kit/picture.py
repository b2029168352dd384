"""Still figures in notebooks, with the sentence that says what they show, and many on one page."""

import io
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from matplotlib.figure import Figure
from PIL import Image

from medn_edu.explorers.kit.style import new_figure, styled

CSS_DPI = 96
DPI = 144
SAVED_DPI = 150  # of figures in files, as the style sheet has it


def show_with_caption(picture: Any, caption: str) -> None:
    """Show a picture, and its caption as an output of its own.

    This way the caption shows while a kernel runs, in the saved notebook and in every page made from
    it.
    """
    from IPython.display import display

    data, metadata = picture._repr_mimebundle_()
    display(data, metadata=metadata, raw=True)
    if caption:
        display({"text/markdown": f"**Figure.** {caption}", "text/plain": caption}, raw=True)


@dataclass(frozen=True, eq=False)
class Picture:
    """A figure and its description, as the output of a notebook cell.

    The saved notebook holds the picture and, as text, its description.  Pages without pictures show the
    description, and tests compare it.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        The figure.
    alt : str
        What it shows, for those who cannot see it.
    caption : str
        What a reader sees and the one thing to notice; Markdown, shown below the figure.

    Examples
    --------
    >>> from medn_edu.explorers import new_figure
    >>> Picture(new_figure(2, 1), "An empty figure.")
    An empty figure.
    """

    figure: Any
    alt: str
    caption: str = ""

    def __repr__(self) -> str:
        return self.alt

    def _ipython_display_(self) -> None:
        show_with_caption(self, self.caption)

    def _repr_mimebundle_(self, **_: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        buffer = io.BytesIO()
        self.figure.savefig(buffer, format="png", dpi=DPI, metadata={"Software": None})
        width = round(self.figure.get_figwidth() * CSS_DPI)
        data = {"image/png": buffer.getvalue(), "text/plain": self.alt}
        return data, {"image/png": {"alt": self.alt, "width": width}}


@dataclass(frozen=True, eq=False)
class SavedPicture:
    """A figure that was saved as PNG by `medn_edu.explorers.save_figure`, and its description.

    Parameters
    ----------
    png : bytes
        The file.
    alt : str
        What it shows, for those who cannot see it.
    caption : str
        What a reader sees and the one thing to notice; Markdown, shown below the figure.
    """

    png: bytes
    alt: str
    caption: str = ""

    def __repr__(self) -> str:
        return self.alt

    def _ipython_display_(self) -> None:
        show_with_caption(self, self.caption)

    def _repr_mimebundle_(self, **_: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        with Image.open(io.BytesIO(self.png)) as picture:
            width = round(picture.width * CSS_DPI / SAVED_DPI)
        data = {"image/png": small_png(self.png), "text/plain": self.alt}
        return data, {"image/png": {"alt": self.alt, "width": width}}


def small_png(png: bytes, *, many: bool = False) -> bytes:
    """Return a picture with 256 colours: enough for a drawing, and a third of the bytes.

    For many drawings together an octree keeps the colours of small areas, at the expense of pale
    shades.
    """
    buffer = io.BytesIO()
    method = Image.Quantize.FASTOCTREE if many else Image.Quantize.MEDIANCUT
    with Image.open(io.BytesIO(png)) as picture:
        picture.convert("RGB").quantize(256, method).save(buffer, "png", optimize=True)
    return buffer.getvalue()


def contact_sheet(pictures: Mapping[str, bytes], n_columns: int = 2, width: float = 12) -> Figure:
    """Return a page of pictures, PNG files, each under its title.

    Two explorers side by side have nearly the size that they have on a screen, and can be read.
    """
    if not pictures:
        raise ValueError("pictures is empty; expected at least one picture for a contact sheet.")
    images = [Image.open(io.BytesIO(png)).convert("RGB") for png in pictures.values()]
    shapes = [image.height / image.width for image in images]
    heights = [max(shapes[k : k + n_columns]) for k in range(0, len(shapes), n_columns)]
    titles = 0.4 * len(heights)  # inches
    figure = new_figure(width, sum(heights) * width / n_columns + titles)
    places = figure.subplots(len(heights), n_columns, squeeze=False, height_ratios=heights).ravel()
    for ax in places:
        ax.set_axis_off()
        ax.set_anchor("NW")
    for ax, title, image in zip(places, pictures, images, strict=False):
        ax.imshow(image, interpolation="antialiased")
        with styled():
            ax.set_title(title)
    return figure
