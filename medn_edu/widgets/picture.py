"""Still figures in notebooks, with the sentence that says what they show."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Any

__all__ = ["Picture"]

CSS_DPI = 96
DPI = 144


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
    >>> from medn_edu.plots import new_figure
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
