"""Still figures in notebooks, with the sentence that says what they show."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Any

from PIL import Image

CSS_DPI = 96
DPI = 144
SAVED_DPI = 150  # of figures in files, as the style sheet has it


@dataclass(frozen=True, eq=False)
class Picture:
    """A figure and its description, as the output of a notebook cell.

    The saved notebook holds the picture and, as text, the description, which pages without
    pictures show and tests compare.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        The figure.
    alt : str
        What it shows, for those who cannot see it.

    Examples
    --------
    >>> from medn_edu.explorers import new_figure
    >>> Picture(new_figure(2, 1), "An empty figure.")
    An empty figure.
    """

    figure: Any
    alt: str

    def __repr__(self) -> str:
        return self.alt

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
    """

    png: bytes
    alt: str

    def __repr__(self) -> str:
        return self.alt

    def _repr_mimebundle_(self, **_: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        buffer = io.BytesIO()
        with Image.open(io.BytesIO(self.png)) as picture:
            width = round(picture.width * CSS_DPI / SAVED_DPI)
            # 256 colours are enough for a drawing, and a third of the bytes
            picture.convert("RGB").quantize(256).save(buffer, "png", optimize=True)
        data = {"image/png": buffer.getvalue(), "text/plain": self.alt}
        return data, {"image/png": {"alt": self.alt, "width": width}}
