"""Web pages: HTML in, trees of elements, texts and images out, with features and labels.

A page is a tree already, so a model can label it as it is: which text is the name of a product, which
image shows it, what does it cost?  The leaves carry these labels.  An element inside the page says
which labels occur below it, and so a price can tell the name next to it that both belong to one product.

HTML is read by selectolax (Lexbor), which repairs what is broken as a browser does.  Scripts never
run, and nothing is fetched.  All walks are loops rather than recursions, so a page may be deep.
"""

import codecs
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from medn_edu.checks import shown
from medn_edu.samples import Forest

MARK = "data-medn"
"""The attribute of HTML elements that marks what is in them; `Page.labels` reads it."""
RECORD = "record"
ATTRIBUTES = ("name", "image", "price", "description")
"""What marks can say of a product's texts and images."""
NOTHING = "none"
"""The label of leaves without a mark."""
LEAF_LABELS = (*ATTRIBUTES, NOTHING)
"""The labels that leaves may have."""


def _set_label(mask: int) -> str:
    """Return the label of a set of attributes; bit k of the mask stands for ``ATTRIBUTES[k]``."""
    return f"({' '.join(sorted(a for k, a in enumerate(ATTRIBUTES) if mask >> k & 1))})"


INNER_LABELS = tuple(map(_set_label, range(2 ** len(ATTRIBUTES))))
"""The labels that elements may have: sets of `ATTRIBUTES`, from ``"()"`` to all four."""

TEXT = "#text"
_NEVER_SHOWN = {"head", "title", "script", "style", "template", "iframe", "noembed", "noframes"}
_CHARSET = re.compile(r"charset\s*=\s*[\"']?\s*([^\s\"';]+)", re.IGNORECASE)
_BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
# What browsers read where a page names these.  Latin-1 has control characters where Windows has
# quotation marks and the euro, and a page in which "<meta" could be found is not in UTF-16.  The
# encodings of East Asia have extensions that nobody names.
_MEANT = {
    "windows-874": "cp874",
    "iso-8859-8-i": "iso8859-8",
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "utf-16": "utf-8",
    "utf-16-le": "utf-8",
    "utf-16-be": "utf-8",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "big5": "big5hkscs",
}
_NOT_OF_THE_WEB = {"unicode-escape", "raw-unicode-escape", "utf-7", "punycode", "idna", "undefined"}
_SIGN = re.compile(r"[$\xa2-\xa5\u0e3f\u20a0-\u20cf\ufe69\uff04\uffe0\uffe1\uffe5]")
_CODE = re.compile(
    r"(?<![A-Za-z])(?:USD|EUR|GBP|JPY|CHF|CAD|AUD|NZD|CNY|INR|BRL|MXN|SEK|NOK|DKK|PLN|CZK|HUF|ZAR)"
    r"(?![A-Za-z])"
)
_HOST = re.compile(r"\s*(?:https?:)?//", re.IGNORECASE)
_SCHEME = re.compile(r"\s*[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_ENDING = re.compile(r"\.([a-z0-9]{1,5})$")
_MOST = 12  # greater depths and positions look alike


@dataclass(frozen=True, eq=False)
class Page:
    """A tree of elements, texts and images, in document order: parents come before their children.

    The leaves are images and texts that are not blank.  Elements without a leaf in them are left out,
    and so is what a browser does not show, such as scripts and comments.

    Parameters
    ----------
    tags : list of str
        What each node is: the name of an element, or ``"#text"``.
    texts : list of str
        The text of each text node, its white space normalised; empty for elements.
    attributes : list of dict
        The attributes of each element, name to value; empty for texts.
    parents : list of int
        Number of each node's parent, -1 at the root.

    Examples
    --------
    >>> from medn_edu import parse_page
    >>> page = parse_page('<ul><li><b data-medn="name">Lamp</b> <i data-medn="price">$ 20</i></ul>')
    >>> page.tags
    ['html', 'body', 'ul', 'li', 'b', '#text', 'i', '#text']
    >>> page.labels()[3:]
    ['(name price)', '(name)', 'name', '(price)', 'price']
    """

    tags: list[str]
    texts: list[str]
    attributes: list[dict[str, str]]
    parents: list[int]

    @property
    def is_leaf(self) -> list[bool]:
        """Whether each node is a text or an image."""
        return [tag in (TEXT, "img") for tag in self.tags]

    def of_leaves(self, values: Sequence[Any]) -> list[Any]:
        """Return the entries of the leaves from values that have one per node, such as labels.

        Parameters
        ----------
        values : sequence
            One value per node.

        Returns
        -------
        list
            One value per leaf, in document order.

        Examples
        --------
        >>> from medn_edu import parse_page
        >>> page = parse_page('<b data-medn="name">Lamp</b> $ 20')
        >>> page.of_leaves(page.labels())
        ['name', 'none']
        """
        return [value for value, leaf in zip(values, self.is_leaf, strict=True) if leaf]

    def depths(self) -> list[int]:
        """Return how many elements are around each node, 0 at the root."""
        depths: list[int] = []
        for parent in self.parents:
            depths.append(depths[parent] + 1 if parent >= 0 else 0)
        return depths

    def n_leaves(self) -> list[int]:
        """Return how many leaves are at and below each node."""
        return self._sizes(self.is_leaf)

    def tokens(self) -> list[dict[str, Any]]:
        """Return the features of each node, as `medn_edu.SequenceVectorizer` reads them.

        A leaf has the tag and the classes of the element around it, the pattern of its text
        (currency, share of digits, length, capitals) or the attributes of its image, and the link
        around it.  An element has its tag, its classes, and the numbers of its children and leaves.
        Every node has its depth, its position among its siblings, and a position estimate: how many
        fifths of the leaves come before it.  No feature contains words of a text or uses marks.

        Returns
        -------
        list of dict
            One dictionary per node.
        """
        is_leaf, n_leaves, depths = self.is_leaf, self.n_leaves(), self.depths()
        n_nodes, before = len(self.tags), 0  # leaves before the node
        n_children, links = [0] * n_nodes, ["none"] * n_nodes
        rows: list[dict[str, Any]] = []
        for t, parent in enumerate(self.parents):
            tag, attributes = self.tags[t], self.attributes[t]
            row: dict[str, Any] = {"sibling": "0", "place": str(5 * before // n_leaves[0])}
            if parent >= 0:
                links[t] = links[parent]
                row["sibling"] = str(min(n_children[parent], _MOST))
                n_children[parent] += 1
            row["depth"] = str(min(depths[t], _MOST))
            if is_leaf[t]:
                row |= _of_image(attributes) if tag == "img" else _of_text(self.texts[t])
                row["link"] = links[t]
                if parent >= 0:
                    row["in"] = self.tags[parent]
                    row["in class"] = self.attributes[parent].get("class", "").split()
                before += 1
            else:
                if tag == "a" and "href" in attributes:
                    links[t] = _kind_of_link(attributes["href"])
                row |= {"kind": "element", "tag": tag, "leaves": _magnitude(n_leaves[t])}
                row["class"] = attributes.get("class", "").split()
            rows.append(row)
        for row, leaf, n in zip(rows, is_leaf, n_children, strict=True):
            if not leaf:
                row["children"] = _magnitude(n)
        return rows

    def _sizes(self, counted: Sequence[bool]) -> list[int]:
        """Return how many nodes that count are at and below each node."""
        sizes = list(map(int, counted))
        for t in reversed(range(1, len(sizes))):
            sizes[self.parents[t]] += sizes[t]
        return sizes

    def sample(self) -> Forest:
        """Return the tree as a sample whose features are `tokens`.

        Edges to leaves are of type 1, all others of type 0.  Leaves may have the labels `LEAF_LABELS`
        and elements `INNER_LABELS`.

        Returns
        -------
        Forest
            What `medn_edu.SequenceVectorizer` turns into a sample with numbers.
        """
        is_leaf = self.is_leaf
        return Forest(
            features=self.tokens(),
            parents=self.parents,
            edge_types=list(map(int, is_leaf)),
            allowed_labels=[LEAF_LABELS if leaf else INNER_LABELS for leaf in is_leaf],
        )

    def chain(self) -> Forest:
        """Return the leaves alone as a sample, a chain with the features they have in the tree.

        Returns
        -------
        Forest
            One node per leaf, in document order.
        """
        return Forest(features=self.of_leaves(self.tokens()))

    def labels(self) -> list[str]:
        """Return the labels that the page's marks give to its nodes.

        ``data-medn="price"`` on an element labels all leaves in it.  If marks are nested, the inner one
        counts, and ``"none"`` takes a mark away.  The label of an element is the set of its leaves'
        attributes, such as ``"(name price)"``.

        Returns
        -------
        list of str
            One label per node: one of `LEAF_LABELS` for leaves, one of `INNER_LABELS` for elements.

        Raises
        ------
        ValueError
            If a mark is unknown, which `parse_page` would have refused.
        """
        self._check_marks()
        marks: list[str] = []
        for attributes, parent in zip(self.attributes, self.parents, strict=True):
            mark = attributes.get(MARK) or (marks[parent] if parent >= 0 else NOTHING)
            marks.append(NOTHING if mark == RECORD else mark)  # a record starts anew
        is_leaf = self.is_leaf
        masks = [0] * len(marks)  # the attributes at and below each node, one bit each
        for t in reversed(range(len(marks))):
            if is_leaf[t] and marks[t] != NOTHING:
                masks[t] = 1 << ATTRIBUTES.index(marks[t])
            if self.parents[t] >= 0:
                masks[self.parents[t]] |= masks[t]
        return [
            mark if leaf else INNER_LABELS[mask]
            for mark, leaf, mask in zip(marks, is_leaf, masks, strict=True)
        ]

    def _check_marks(self) -> None:
        for tag, attributes in zip(self.tags, self.attributes, strict=True):
            mark = attributes.get(MARK, RECORD)
            if mark not in (*LEAF_LABELS, RECORD):
                raise ValueError(
                    f"the page has {MARK}={shown(mark)} on an element <{tag}>; expected one of "
                    f"{', '.join(LEAF_LABELS)} or {RECORD}."
                )

    def records(self) -> "list[Page]":
        """Return the records of the page: the elements marked ``data-medn="record"``.

        A record inside another record is left out.

        Returns
        -------
        list of Page
            Each record as a page of its own, whose root is the record's element.
        """
        sizes = self._sizes([True] * len(self.tags))
        records, end = [], 0
        for t, attributes in enumerate(self.attributes):
            if t < end or attributes.get(MARK) != RECORD:
                continue
            end = t + sizes[t]
            parents = [-1, *(parent - t for parent in self.parents[t + 1 : end])]
            records.append(
                Page(self.tags[t:end], self.texts[t:end], self.attributes[t:end], parents)
            )
        return records


def parse_page(html: str | bytes) -> Page:
    """Read HTML into a tree, as a browser does: it repairs what is broken, but runs no scripts.

    Parameters
    ----------
    html : str or bytes
        The page.  For bytes, the encoding comes from a byte-order mark, or from the ``charset`` of a
        ``<meta>`` in the first 1,024 bytes, and is UTF-8 otherwise.  Bytes that are invalid in this
        encoding become U+FFFD, the replacement character.

    Returns
    -------
    Page
        The page's elements, texts and images.

    Raises
    ------
    TypeError, ValueError
        If ``html`` is neither text nor bytes, names an unknown encoding, has neither text nor an image
        in it, or has an unknown mark ``data-medn``; the message says what was expected.
    ImportError
        If selectolax is missing; ``pip install 'medn_edu[web]'`` installs it.

    Examples
    --------
    >>> from medn_edu import parse_page
    >>> page = parse_page('<p>A lamp<p>for <img src="desk.png" alt="desks">')
    >>> page.tags
    ['html', 'body', 'p', '#text', 'p', '#text', 'img']
    >>> page.parents
    [-1, 0, 1, 2, 1, 4, 4]
    """
    try:
        from selectolax.lexbor import LexborHTMLParser
    except ImportError:
        raise ImportError(
            "reading pages needs the library selectolax, which is not installed; pip install "
            "'medn_edu[web]' installs it."
        ) from None
    document = LexborHTMLParser(_decoded(html, LexborHTMLParser))
    tags: list[str] = []
    texts: list[str] = []
    attributes: list[dict[str, str]] = []
    parents: list[int] = []
    number: dict[int, int] = {}  # of each element that is kept, by its place in the parser's memory
    for node in document.root.traverse(include_text=True) if document.root else ():
        parent = -1 if node.parent is None else number.get(node.parent.mem_id, -1)
        tag, text = node.tag or "", ""
        if (parent < 0 and tags) or tag in _NEVER_SHOWN or (tag[:1] == "-" and tag != "-text"):
            continue
        if tag == "-text":
            tag, text = TEXT, " ".join((node.text_content or "").split())
            if not text:
                continue
            attributes.append({})
        else:
            number[node.mem_id] = len(tags)
            attributes.append({name: value or "" for name, value in node.attributes.items()})
        tags.append(tag)
        texts.append(text)
        parents.append(parent)
    return _with_leaves(Page(tags, texts, attributes, parents))


def page_to_sample(html: str | bytes) -> Forest:
    """Return a page as a sample, a tree of features for `medn_edu.SequenceVectorizer`.

    Parameters
    ----------
    html : str or bytes
        The page, read as `parse_page` does.

    Returns
    -------
    Forest
        A node for each element, text and image; its features are dictionaries.

    Examples
    --------
    >>> from medn_edu import SequenceVectorizer, page_to_sample
    >>> sample = page_to_sample("<p>A lamp: <b>$ 20</b>")
    >>> sample.parents
    [-1, 0, 1, 2, 2, 4]
    >>> SequenceVectorizer().fit_transform([sample])[0].features.shape
    (6, 30)
    """
    return parse_page(html).sample()


def _with_leaves(page: Page) -> Page:
    """Return a page without the elements that have no leaf in them, if its marks are known."""
    kept = page.is_leaf
    for t in reversed(range(1, len(kept))):
        kept[page.parents[t]] |= kept[t]
    if not any(kept):
        raise ValueError(
            "html has neither text nor an image in it; expected a page with at least one of them."
        )
    number, n_kept = [], 0
    for keep in kept:
        number.append(n_kept)
        n_kept += keep
    nodes = [t for t, keep in enumerate(kept) if keep]
    found = Page(
        [page.tags[t] for t in nodes],
        [page.texts[t] for t in nodes],
        [page.attributes[t] for t in nodes],
        [-1, *(number[page.parents[t]] for t in nodes[1:])],
    )
    found._check_marks()
    return found


# -- bytes to text ------------------------------------------------------------------------------


def _decoded(html: Any, parser: Any) -> str:
    """Return a page as text that the parser takes."""
    if isinstance(html, bytes | bytearray):
        html = bytes(html)
        for mark, encoding in _BYTE_ORDER_MARKS.items():
            if html.startswith(mark):
                return html.removeprefix(mark).decode(encoding, "replace")
        return html.decode(_encoding(_charset(html[:1024], parser)), "replace")
    if not isinstance(html, str):
        raise TypeError(f"html is {shown(html)}; expected the text of a page, or bytes.")
    # Half a surrogate pair is no character: it is replaced, as browsers do when they write UTF-8.
    return html.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _charset(start: bytes, parser: Any) -> str:
    """Return the encoding that the first ``<meta>`` with one names.

    The parser finds it, because "<meta" in a comment or a script is none.
    """
    for meta in parser(start.decode("latin-1")).css("meta"):
        attributes = {name: (value or "").strip() for name, value in meta.attributes.items()}
        if attributes.get("charset"):
            return attributes["charset"]
        found = _CHARSET.search(attributes.get("content", ""))
        if found and attributes.get("http-equiv", "").lower() == "content-type":
            return found[1]
    return "utf-8"


def _encoding(name: str) -> str:
    """Return Python's name of the encoding that a page means by the name it gives."""
    try:
        label = name.lower().removeprefix("x-")
        codec = codecs.lookup(_MEANT.get(label, label)).name
        "".encode(codec)  # which refuses codecs from bytes to bytes
        if codec in _NOT_OF_THE_WEB:
            raise LookupError
    except (LookupError, ValueError, TypeError):
        raise ValueError(
            f"html says that its encoding is {shown(name)}; expected one that Python knows, or text "
            "instead of bytes."
        ) from None
    return _MEANT.get(codec, codec)


# -- features of one node -----------------------------------------------------------------------


def _of_text(text: str) -> dict[str, Any]:
    """Return the pattern of a text: everything that is not its words."""
    characters = text.replace(" ", "")
    initials = [word[0] for word in text.split() if word[0].isalpha()]
    currency = "sign" if _SIGN.search(text) else "code" if _CODE.search(text) else "none"
    return {
        "kind": "text",
        "currency": currency,
        "digits": _quarters(sum(map(str.isdecimal, characters)), len(characters)),
        "length": _magnitude(len(text)),
        "capitals": _quarters(sum(map(str.isupper, initials)), len(initials)),
        "shouting": text.isupper(),
    }


def _of_image(attributes: dict[str, str]) -> dict[str, Any]:
    alt = attributes.get("alt")
    return {
        "kind": "image",
        "class": attributes.get("class", "").split(),
        "alt": "none" if alt is None else "text" if alt.strip() else "empty",
        "width": _pixels(attributes.get("width", "")),
        "height": _pixels(attributes.get("height", "")),
        "ending": _ending(attributes.get("src", "")),
    }


def _magnitude(number: int) -> str:
    """Return the number of binary digits of a number: 0, 1, 2-3, 4-7, ... look alike."""
    return str(min(number.bit_length(), _MOST))


def _quarters(part: int, whole: int) -> str:
    """Return how many quarters of a whole its part fills, the last one not necessarily in full."""
    return str(-(-4 * part // max(whole, 1)))


def _pixels(length: str) -> str:
    found = re.match(r"\s*([0-9]{1,5})(?![0-9])", length)
    return _magnitude(int(found[1])) if found else "none"


def _ending(address: str) -> str:
    address = address.strip().lower()
    if address.startswith("data:"):
        return "data"
    found = _ENDING.search(re.split("[?#]", address, maxsplit=1)[0])
    return found[1] if found else "none"


def _kind_of_link(address: str) -> str:
    """Return "external" for a link with a host, "other" for mail and scripts, "local" otherwise."""
    if _HOST.match(address):
        return "external"
    return "other" if _SCHEME.match(address) else "local"
