"""Generated product pages: real HTML of many kinds, with marks that say what each part is.

The product pages that the papers used are not public, so ours are made by rules.  Each of 37 shops has
a template, written by hand.  They are in the styles of three decades: tables and fonts, definition
lists, cards, class names that say much or nothing.  The templates are in ``shops/*.html``, and
``shops/words.toml`` lists what the shops sell.

A template is the HTML of a page, with tags in double braces:

=======================================  ==========================================================
``{{price}}``                            a field of the record or of the page; otherwise the next
                                         card of the word list of that name, with tags of its own
``{{10-99}}``                            a whole number in this range
``{{?30}} one {{:}} other {{/}}``        one in 30 of 100 cases, and the other (or nothing) otherwise
``{{*2-5}} part {{/}}``                  the part two to five times; ``key`` and ``value`` are a new
                                         fact of the product each time
``{{*records}} part {{/}}``              the part once per record
``{{%3}} part {{/}}``                    between records, after every third of them: a new table row
=======================================  ==========================================================

Everything is drawn as whole numbers, so a seed gives the same pages on every machine.
"""

import re
import tomllib
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from medn_edu.checks import check_count, random_generator, shown
from medn_edu.samples.checks import as_list

VERSION = 1  # of the generator: templates, words and program, frozen before any model saw a page
_FOLDER = Path(__file__).with_name("shops")
TEMPLATES = tuple(sorted(path.stem for path in _FOLDER.glob("*.html")))
_N_RECORDS = 8  # per page, on average
_LEAST = 2

_DESCR = """\
Generated product pages
-----------------------
{n_pages} pages of {n_templates} made-up shops with {n_records} products, made by version {version} of
a generator.  They don't come from the web, because the pages of the papers (Zhu and Xing, Maximum
Entropy Discrimination Markov Networks, JMLR 2009, section 7.4; Zhu, Xing and Zhang, Primal Sparse
Max-Margin Markov Networks, KDD 2009, section 5.4) are not public.  Each shop has a template that was
written by hand in the style of some year between 1996 and today.  What differs from product to product
and from page to page is drawn at random: words, prices, parts of the layout that may be missing, and
advertisements.

Marks say what each element is.  An element with data-medn="record" holds one product; "name", "image",
"price" and "description" mark the elements that hold these, and "none" marks what doesn't belong to
them after all.  `medn_edu.parse_page` reads the marks.

Contents: html (list of str, one document each), template (array of str, the shop of each page).
"""


def make_pages(
    n_per_template: int = 5,
    *,
    n_records: int | None = None,
    templates: Sequence[str] | None = None,
    random_state: Any = 0,
) -> Bunch:
    """Generate product pages of made-up shops, as HTML with marks.

    Parameters
    ----------
    n_per_template : int, default=5
        Number of pages of each shop.
    n_records : int, optional
        Number of products on all pages together, at least two per page; by default eight per page on
        average.
    templates : sequence of str, optional
        Names of the shops; by default all 37, `medn_edu.datasets.pages.TEMPLATES`.
    random_state : int, numpy.random.Generator or None, default=0
        Seed of everything that is drawn.  One seed gives the same pages on every machine.

    Returns
    -------
    sklearn.utils.Bunch
        html : list of str
            The pages, for `medn_edu.parse_page`.
        template : ndarray of str, shape (n_pages,)
            The shop of each page.
        DESCR : str
            How the pages are made.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its range; the message names it and what was expected.

    Examples
    --------
    >>> from medn_edu import parse_page
    >>> pages = make_pages(1, n_records=6, templates=["definition-list", "font-table"])
    >>> pages.template.tolist()
    ['definition-list', 'font-table']
    >>> sum(len(parse_page(html).records()) for html in pages.html)
    6
    """
    names = _check_templates(templates)
    n_pages = len(names) * check_count("n_per_template", n_per_template)
    if n_records is None:
        n_records = _N_RECORDS * n_pages
    n_records = check_count("n_records", n_records)
    if n_records < _LEAST * n_pages:
        raise ValueError(
            f"n_records is {n_records}; expected at least {_LEAST * n_pages}, two for each of {n_pages} "
            "pages."
        )
    rng = random_generator(random_state)
    more = rng.integers(n_pages, size=n_records - _LEAST * n_pages)
    counts = _LEAST + np.bincount(more, minlength=n_pages)
    template = np.repeat(names, n_per_template)
    return Bunch(
        html=[_page(*each, rng) for each in zip(template.tolist(), counts.tolist(), strict=True)],
        template=template,
        DESCR=_DESCR.format(
            n_pages=n_pages, n_templates=len(names), n_records=n_records, version=VERSION
        ),
    )


def _check_templates(templates: Any) -> list[str]:
    if templates is None:
        return list(TEMPLATES)
    names = as_list(templates, "templates", "a sequence of names of shops")
    for name in names:
        if name not in TEMPLATES:
            raise ValueError(
                f"templates holds {shown(name)}; expected names in medn_edu.datasets.pages.TEMPLATES, "
                f"such as {TEMPLATES[0]!r}."
            )
    if not names or len(set(names)) < len(names):
        raise ValueError(
            f"templates is {shown(names)}; expected at least one name, and each only once."
        )
    return names


@cache
def _words() -> dict[str, Any]:
    return tomllib.loads((_FOLDER / "words.toml").read_text(encoding="utf-8"))


def _page(template: str, n_records: int, rng: np.random.Generator) -> str:
    """Return a page of one shop."""
    words = _words()
    categories = list(words["categories"].values())
    writer = _Writer(words["words"] | categories[rng.integers(len(categories))], rng)
    page = writer.draw(words["page"], {"category": writer.word("department", {})})
    writer.records = [_record(writer, page, number) for number in range(1, n_records + 1)]
    return writer.write(_parsed(template), page)


def _record(writer: "_Writer", page: dict[str, str], number: int) -> dict[str, str]:
    """Return the fields of one product."""
    fields = writer.draw(_words()["record"], page | {"number": str(number)})
    fields |= writer.fact(fields)
    fields["parity"] = "odd" if number % 2 else "even"
    fields["thing"] = fields["noun"].lower()
    fields["slug"] = re.sub(r"(&\w+;|[^a-z0-9])+", "-", fields["name"].lower()).strip("-")
    low, high = writer.words["prices"]
    # Cheap things are more frequent than expensive ones.
    whole = low + (high - low) * writer.number(1, 100) ** 2 // 10_000 + writer.number(0, 9)
    price = 100 * whole + (99, 95, 0, 50, 49, 0)[writer.number(0, 5)]
    saved = 100 * (1 + whole * writer.number(8, 60) // 100)
    amounts = {
        "price": price,
        "old": price + saved,
        "saved": saved,
        "shipping": (395, 499, 690, 1200, 595)[writer.number(0, 4)],
        "monthly": price // 12 + 1,
    }
    fields["percent"] = str(100 * saved // (price + saved))
    for name, cents in amounts.items():
        units, rest = f"{cents // 100:,}", f"{cents % 100:02}"
        fields[name] = f"{units}.{rest}"
        fields[f"{name} units"], fields[f"{name} cents"] = units, rest
        fields[f"{name} comma"] = f"{units.replace(',', '.')},{rest}"
    return fields


# -- the language of templates --------------------------------------------------------------------

_TAG = re.compile(r"\{\{(.*?)\}\}")
_Parts = list[Any]  # text, names of fields, and blocks: their opening tag, and a list per branch


@cache
def _parsed(template: str) -> _Parts:
    return _parse((_FOLDER / f"{template}.html").read_text(encoding="utf-8"))


@cache
def _parse(text: str) -> _Parts:
    """Return text and tags as a tree of parts."""
    first, *rest = _TAG.split(text)
    return _branches(first, iter(zip(rest[::2], rest[1::2], strict=True)))[0]


def _branches(text: str, pieces: Iterator[tuple[str, str]]) -> list[_Parts]:
    """Return the branches of a block, each a list of parts, and last what follows its end."""
    branches: list[_Parts] = [[text]]
    for tag, text in pieces:
        if tag == "/":
            return [*branches, [text]]
        if tag == ":":
            branches.append([text])
        elif tag[0] in "?*%":
            *inside, after = _branches(text, pieces)
            branches[-1] += [(tag, inside), *after]
        else:
            branches[-1] += [(tag, []), text]
    return branches


class _Writer:
    """Writes one page: draws what is left to chance and remembers which words have been used."""

    def __init__(self, words: dict[str, list[Any]], rng: np.random.Generator) -> None:
        self.words, self.rng = words, rng
        self.decks: dict[str, list[str]] = {}
        self.records: list[dict[str, str]] = []

    def number(self, least: int, most: int) -> int:
        return int(self.rng.integers(least, most + 1))

    def word(self, name: str, fields: dict[str, str]) -> str:
        """Deal the next word of a list, which is shuffled anew when all are used up."""
        if not self.decks.get(name):
            words = self.words[name]
            self.decks[name] = [words[k] for k in self.rng.permutation(len(words))]
        return self.write(_parse(self.decks[name].pop()), fields)

    def draw(self, table: dict[str, list[str]], fields: dict[str, str]) -> dict[str, str]:
        """Return fields with those of a table added, which may use the ones before them."""
        fields = dict(fields)
        for name, options in table.items():
            fields[name] = self.write(_parse(options[self.number(1, len(options)) - 1]), fields)
        return fields

    def write(self, parts: _Parts, fields: dict[str, str]) -> str:
        written = []
        for part in parts:
            if isinstance(part, str):
                written.append(part)
            else:
                tag, branches = part
                written.append(self._write(tag, branches, fields))
        return "".join(written)

    def _write(self, tag: str, branches: list[_Parts], fields: dict[str, str]) -> str:
        """Return what a tag stands for."""
        if tag in fields:
            return fields[tag]
        if tag == "*records":
            return "".join(self.write(branches[0], record) for record in self.records)
        if tag[0] == "?":
            chosen = branches[:1] if self.number(1, 100) <= int(tag[1:]) else branches[1:]
            return "".join(self.write(branch, fields) for branch in chosen)
        if tag[0] == "%":
            number = int(fields["number"])
            ends = number % int(tag[1:]) == 0 and number < len(self.records)
            return self.write(branches[0], fields) if ends else ""
        if (span := re.fullmatch(r"\*?(\d+)-(\d+)", tag)) is None:
            return self.word(tag, fields)
        number = self.number(int(span[1]), int(span[2]))
        if tag[0] != "*":
            return str(number)
        return "".join(self.write(branches[0], fields | self.fact(fields)) for _ in range(number))

    def fact(self, fields: dict[str, str]) -> dict[str, str]:
        key, value = self.word("facts", fields).split(": ")
        return {"key": key, "value": value}
