"""Parse trees: a sentence is cut into phrases, these into smaller phrases, and those into words.

Treebanks write a tree with brackets, each with the label of its phrase: ``(3 (2 not) (1 bad))``.  Here
the phrases are nodes, in the order in which their brackets open.  So parents come before their children.
"""

import re
from typing import NamedTuple

from medn_edu.checks import shown

_PIECES = re.compile(r"[()]|[^() \t\r\n]+")  # other blanks may be part of words


class Parse(NamedTuple):
    """A sentence with its phrases, each of which is a node of a tree.

    Parameters
    ----------
    words : tuple of str
        The words of the sentence.
    parents : tuple of int
        The number of each phrase's parent.  The whole sentence comes first and has -1.
    spans : tuple of (int, int)
        Where each phrase starts and ends: it holds ``words[start:end]``.

    Examples
    --------
    >>> parse, labels = read_parse("(3 (2 not) (1 bad))")
    >>> parse.parents, labels
    ((-1, 0, 0), ['3', '2', '1'])
    >>> [parse.phrase(node) for node in range(3)]
    ['not bad', 'not', 'bad']
    """

    words: tuple[str, ...]
    parents: tuple[int, ...]
    spans: tuple[tuple[int, int], ...]

    @property
    def n_nodes(self) -> int:
        """Number of phrases, single words among them."""
        return len(self.parents)

    def phrase(self, node: int) -> str:
        """Return the words of a phrase, separated by blanks."""
        start, end = self.spans[node]
        return " ".join(self.words[start:end])

    def is_word(self, node: int) -> bool:
        """Whether a phrase is a single word."""
        start, end = self.spans[node]
        return end - start == 1

    def children(self) -> list[list[int]]:
        """Return the parts of each phrase, from left to right; none for words."""
        found: list[list[int]] = [[] for _ in self.parents]
        for node, parent in enumerate(self.parents):
            if parent >= 0:
                found[parent].append(node)
        return found


def read_parse(text: str) -> tuple[Parse, list[str]]:
    """Read a tree that is written with brackets, as treebanks do.

    Parameters
    ----------
    text : str
        One tree.  Each bracket holds a label and then either one word or at least two brackets.

    Returns
    -------
    parse : Parse
        The tree.
    labels : list of str
        The label of each phrase.

    Raises
    ------
    ValueError
        If the text is not such a tree; the message says where.
    TypeError
        If ``text`` is not a string.

    Examples
    --------
    >>> parse, labels = read_parse("(1 (2 not) (3 good))")
    >>> parse.words, labels
    (('not', 'good'), ['1', '2', '3'])
    """
    words: list[str] = []
    labels: list[str] = []
    parents: list[int] = []
    spans: list[tuple[int, int]] = []
    n_parts: list[int] = []  # of each phrase: brackets, or -1 for a word
    open_nodes: list[int] = []
    if not isinstance(text, str):
        raise TypeError(f"text is {shown(text)}; expected a string such as '(3 (2 not) (1 bad))'.")
    before = ""
    for found in _PIECES.finditer(text):
        piece, at = found[0], found.start()
        inside = open_nodes[-1] if open_nodes else -1
        if piece == "(":
            if (inside < 0 and labels) or before == "(" or (inside >= 0 and n_parts[inside] < 0):
                raise _odd(text, at)
            if inside >= 0:
                n_parts[inside] += 1
            open_nodes.append(len(labels))
            labels.append("")
            parents.append(inside)
            spans.append((len(words), -1))
            n_parts.append(0)
        elif piece == ")":
            if inside < 0 or n_parts[inside] in (0, 1):
                raise _odd(text, at)
            spans[inside] = (spans[inside][0], len(words))
            open_nodes.pop()
        elif before == "(":
            labels[inside] = piece
        elif inside >= 0 and n_parts[inside] == 0:
            n_parts[inside] = -1
            words.append(piece)
        else:
            raise _odd(text, at)
        before = piece
    if open_nodes or not labels:
        raise _odd(text, len(text))
    return Parse(tuple(words), tuple(parents), tuple(spans)), labels


def _odd(text: str, at: int) -> ValueError:
    """Return what to raise where a tree does not go on as it must."""
    what = f"goes on with {shown(text[at:])}" if at < len(text) else "ends"
    return ValueError(
        f"text is not a tree, because it {what} after {at} characters; expected brackets such as "
        "(3 (2 not) (1 bad)), each with a label and then a word or at least two brackets."
    )
