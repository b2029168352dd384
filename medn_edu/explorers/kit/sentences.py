"""Sentences that a cell computes, as a list that wraps like text."""

import re
from collections.abc import Iterable
from typing import Any


class Sentences:
    r"""A list of sentences as the output of a notebook cell: Markdown, and the same as plain text.

    Printed lines break in mid-word at the edge of a cell and look like code.

    Parameters
    ----------
    sentences : iterable
        What to say, such as the facts of an explorer's lessons or an error; each becomes one item.

    Examples
    --------
    >>> Sentences(["Small weights shrink.", "coef_ is an array."])
    - Small weights shrink.
    - coef_ is an array.
    >>> print(Sentences(["coef_ is an array."])._repr_markdown_())
    - coef\_ is an array.
    """

    def __init__(self, sentences: Iterable[Any]) -> None:
        self.sentences = [str(sentence) for sentence in sentences]

    def __repr__(self) -> str:
        return "\n".join(f"- {sentence}" for sentence in self.sentences)

    def _repr_markdown_(self) -> str:
        plain = (re.sub(r"([\\`*_<\[\]$~|])", r"\\\1", sentence) for sentence in self.sentences)
        return "\n".join(f"- {sentence}" for sentence in plain)
