"""Sentences that a cell computes: they wrap like text, and several make a list."""

import re
from collections.abc import Iterable
from typing import Any


class Sentences:
    r"""Sentences as the output of a notebook cell: Markdown, and the same as plain text.

    Printed lines break in mid-word at the edge of a cell and look like code.

    Parameters
    ----------
    sentences : iterable
        What to say, such as an error or the facts of an explorer's lessons; several become a list.

    Examples
    --------
    >>> Sentences(["Small weights shrink.", "coef_ is an array."])
    - Small weights shrink.
    - coef_ is an array.
    >>> print(Sentences(["coef_ is an array, as `coef_` says."])._repr_markdown_())
    coef\_ is an array, as `coef_` says.
    """

    def __init__(self, sentences: Iterable[Any]) -> None:
        self.sentences = [str(sentence) for sentence in sentences]

    def __repr__(self) -> str:
        return _listed(self.sentences)

    def _repr_markdown_(self) -> str:
        return _listed([_escaped(sentence) for sentence in self.sentences])


def _escaped(sentence: str) -> str:
    """Return a sentence as Markdown, with `code`."""
    parts = re.split(r"(`[^`]+`)", sentence)
    parts[::2] = [re.sub(r"([\\`*_<\[\]$~|])", r"\\\1", part) for part in parts[::2]]
    return "".join(parts)


def _listed(sentences: list[str]) -> str:
    """Return sentences as items; a single one stands alone."""
    return sentences[0] if len(sentences) == 1 else "\n".join(f"- {each}" for each in sentences)
