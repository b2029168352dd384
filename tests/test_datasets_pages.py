"""Generated pages: frozen, marked consistently, and read alike by two parsers."""

import hashlib
import re
from collections import Counter
from itertools import combinations

import numpy as np
import pytest

from medn_edu import parse_page
from medn_edu.datasets import make_pages
from medn_edu.datasets.pages import TEMPLATES, VERSION
from medn_edu.text import ATTRIBUTES, INNER_LABELS, LEAF_LABELS, MARK, Page

NEVER_SHOWN = {"head", "script", "style", "template", "iframe"}
MOST_NODES = 64  # of a record


@pytest.fixture(scope="module")
def pages():
    return make_pages(random_state=0)


@pytest.fixture(scope="module")
def parsed(pages):
    pytest.importorskip("selectolax")
    return list(map(parse_page, pages.html))


@pytest.fixture(scope="module")
def records(pages, parsed):
    """The records of each template."""
    found: dict[str, list[Page]] = {name: [] for name in TEMPLATES}
    for name, page in zip(pages.template, parsed, strict=True):
        found[str(name)] += page.records()
    return found


def leaf_labels(page: Page) -> list[str]:
    return page.of_leaves(page.labels())


def text_of(page: Page, label: str) -> str:
    return " ".join(
        t for t, named in zip(page.texts, page.labels(), strict=True) if t and named == label
    )


def test_the_generator_is_frozen(pages):
    """Results of the study are those of these pages, so they may not change unnoticed."""
    digest = hashlib.sha256("\n".join(pages.html).encode()).hexdigest()
    assert (VERSION, digest[:12]) == (1, "b0d962f6029e")
    assert make_pages(random_state=0).html == pages.html
    assert make_pages(random_state=np.random.default_rng(0)).html == pages.html
    assert not set(make_pages(random_state=1).html) & set(pages.html)


def test_there_are_as_many_pages_and_records_as_asked_for(pages):
    assert len(TEMPLATES) == 37
    assert pages.template.tolist() == np.repeat(TEMPLATES, 5).tolist()
    assert "not public" in pages.DESCR
    assert sum(html.count('data-medn="record"') for html in pages.html) == 8 * len(pages.html)
    for n_per_template, n_records in [(5, 1585), (10, 3391)]:  # those of the papers
        made = make_pages(n_per_template, n_records=n_records, random_state=n_records)
        counts = [html.count('data-medn="record"') for html in made.html]
        assert (len(counts), sum(counts)) == (37 * n_per_template, n_records)
        assert min(counts) >= 2
        assert len(set(counts)) > 5
    some = make_pages(2, n_records=8, templates=["weblog", "auction"])
    assert some.template.tolist() == ["weblog"] * 2 + ["auction"] * 2
    assert [html.count('data-medn="record"') for html in some.html] == [2] * 4


def test_pages_are_whole_documents_of_plain_characters(pages):
    for html in pages.html:
        assert html.isascii()  # so that each declared encoding is right
        assert "<title>" in html.lower()
        assert "</html>" in html.lower() or "<main>" in html
        assert "{{" not in html
        assert len(html) < 60_000
    declared = Counter(re.findall(r"charset=[\"']?([\w-]+)", "".join(pages.html).lower()))
    assert {"utf-8", "iso-8859-1"} == set(declared)


def test_lxml_reads_the_same_trees(pages, parsed):
    lxml = pytest.importorskip("lxml.html")
    for name, html, page in zip(pages.template, pages.html, parsed, strict=True):
        nodes: list[tuple[str, str, dict[str, str], int]] = []

        def add_text(text, parent, nodes=nodes):
            if text and (text := " ".join(text.split())):
                nodes.append(("#text", text, {}, parent))

        def add(element, parent, nodes=nodes, add_text=add_text):
            if not isinstance(element.tag, str) or element.tag in NEVER_SHOWN:
                return
            number = len(nodes)
            nodes.append((element.tag, "", dict(element.attrib), parent))
            add_text(element.text, number)
            before = len(nodes)
            for child in element:
                add(child, number)
                add_text(child.tail, number)
            if len(nodes) == before == number + 1 and element.tag != "img":
                nodes.pop()  # there is nothing in it

        add(lxml.document_fromstring(html), -1)
        ours = list(zip(page.tags, page.texts, page.attributes, page.parents, strict=True))
        assert nodes == ours, name


def test_every_record_has_a_name_and_a_price(records):
    for name, of_template in records.items():
        counts = [Counter(leaf_labels(record)) for record in of_template]
        assert min(count["name"] for count in counts) >= 1, name
        assert min(count["price"] for count in counts) >= 1, name
        assert max(count["image"] for count in counts) == 1, name
        assert min(count["none"] for count in counts) >= 1, name
        assert sum(count["description"] > 0 for count in counts) > 0.05 * len(counts), name
        for record in of_template:
            assert re.search(r"\d", text_of(record, "price")), name
            assert re.search(r"[A-Za-z]{3}", text_of(record, "name")), name
            assert "img" not in {
                tag
                for tag, label in zip(record.tags, record.labels(), strict=True)
                if label in ("name", "price", "description")
            }


def test_labels_of_elements_are_the_sets_below_them(records):
    seen = set()
    for record in (record for of_template in records.values() for record in of_template):
        labels, below = record.labels(), [set() for _ in record.tags]
        for t in reversed(range(len(labels))):
            if record.is_leaf[t]:
                assert labels[t] in LEAF_LABELS
                below[t] |= {labels[t]} & set(ATTRIBUTES)
            else:
                assert labels[t] == f"({' '.join(sorted(below[t]))})"
                seen.add(labels[t])
            if t:
                below[record.parents[t]] |= below[t]
    assert seen <= set(INNER_LABELS)
    assert len(seen) >= 12


def test_records_are_of_the_size_that_pages_have(records):
    every = [record for of_template in records.values() for record in of_template]
    leaves = np.array([sum(record.is_leaf) for record in every])
    nodes = np.array([len(record.tags) for record in every])
    assert 9 < leaves.mean() < 12
    assert 14 < (nodes - leaves).mean() < 20
    assert nodes.max() <= MOST_NODES


def paths(record: Page) -> set[str]:
    """The tags from the root to each node."""
    found: list[str] = []
    for tag, parent in zip(record.tags, record.parents, strict=True):
        found.append(f"{found[parent]}/{tag}" if parent >= 0 else tag)
    return set(found)


def test_templates_differ_and_so_do_records_of_one_template(records):
    of = {name: set().union(*map(paths, some)) for name, some in records.items()}
    for a, b in combinations(TEMPLATES, 2):
        assert len(of[a] & of[b]) <= 0.6 * len(of[a] | of[b]), (a, b)
    for name, some in records.items():
        assert len({tuple(record.parents) for record in some}) >= 6, name


def test_marks_leave_no_trace_in_features(pages, parsed):
    for html, page in zip(pages.html, parsed, strict=True):
        bare = re.sub(rf' {MARK}="\w+"', "", html)
        assert MARK not in bare
        assert parse_page(bare).tokens() == page.tokens()


def test_products_of_two_seeds_are_mostly_others(records):
    known = {text_of(record, "name") for some in records.values() for record in some}
    other = [
        page for html in make_pages(2, random_state=1).html for page in parse_page(html).records()
    ]
    names = [text_of(record, "name") for record in other]
    assert len(set(names)) > 0.95 * len(names)
    assert sum(name in known for name in names) < 0.05 * len(names)


@pytest.mark.parametrize(
    ("arguments", "error", "sentence"),
    [
        (
            {"n_per_template": 0},
            ValueError,
            "n_per_template is 0; expected a whole number of at least 1.",
        ),
        ({"n_per_template": 1.5}, TypeError, "n_per_template is 1.5; expected a whole number"),
        (
            {"n_records": 369},
            ValueError,
            "n_records is 369; expected at least 370, two for each of 185 pages.",
        ),
        (
            {"templates": ["shop"]},
            ValueError,
            "templates holds 'shop'; expected names in medn_edu.datasets",
        ),
        (
            {"templates": [["weblog"]]},
            ValueError,
            r"templates holds \['weblog'\]; expected names in",
        ),
        (
            {"templates": []},
            ValueError,
            r"templates is \[\]; expected at least one name, and each only once.",
        ),
        (
            {"templates": ["weblog"] * 2},
            ValueError,
            "expected at least one name, and each only once.",
        ),
        ({"templates": 3}, TypeError, "templates"),
        ({"random_state": -1}, ValueError, "random_state is -1; expected a whole number"),
    ],
)
def test_bad_arguments_are_named(arguments, error, sentence):
    with pytest.raises(error, match=sentence):
        make_pages(**arguments)
