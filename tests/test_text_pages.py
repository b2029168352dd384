"""Web pages: trees as browsers make them, labels from marks, features that say nothing else."""

import re
import socket
import sys
import time
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.pipeline import make_pipeline

from medn_edu import M3N, Forest, SequenceVectorizer, page_to_sample, parse_page
from medn_edu.text import ATTRIBUTES, INNER_LABELS, LEAF_LABELS, MARK, NOTHING, Page

pytest.importorskip("selectolax")

EMPTY = "html has neither text nor an image in it; expected a page with at least one of them."
LAMP = """
<body><h1>Lamps</h1>
<div class="item  big" data-medn="record">
  <a href="/lamp"><img src="a/lamp.JPG?x=1" alt="" width="120" height="90px" data-medn="image"></a>
  <h2 data-medn="name"><b>Desk</b> Lamp</h2>
  <p data-medn="description">Bright.<a data-medn="none" href="//b.example">more</a></p>
  <span><s>$ 25</s> <i data-medn="price">20.00 EUR</i></span>
</div>
<div data-medn="record"><p data-medn="name">TABLE LAMP</p></div>
</body>
"""


def drawn(page: Page) -> str:
    """A page as text: elements with what is in them, such as ``p(One b(two))``."""
    done: list[str] = [""] * len(page.tags)
    for t in reversed(range(len(page.tags))):
        children = [done[c] for c, parent in enumerate(page.parents) if parent == t]
        done[t] = page.texts[t] or page.tags[t] + (f"({' '.join(children)})" if children else "")
    return done[0]


def body_of(html: str | bytes) -> str:
    text = drawn(parse_page(html))
    assert text.startswith("html(body(")
    return text.removeprefix("html(body(")[:-2]


def text_of(html: bytes) -> str:
    return " ".join(filter(None, parse_page(html).texts))


# -- trees --------------------------------------------------------------------------------------

REPAIRED = {
    "paragraphs end where the next one begins": ("<p>One<p>Two", "p(One) p(Two)"),
    "so do items": ("<ul><li>a<li>b</ul>c", "ul(li(a) li(b)) c"),
    "cells and rows do, in a body that nobody wrote": (
        "<table><tr><td>a<td>b<tr><th>c</table>",
        "table(tbody(tr(td(a) td(b)) tr(th(c))))",
    ),
    "wrongly nested": ("<p>1<b>2<i>3</b>4</i>5</p>", "p(1 b(2 i(3)) i(4) 5)"),
    "bold around a paragraph": ("<b>1<p>2</b>3</p>", "b(1) p(b(2) 3)"),
    "text in a table, but not in a cell, goes before it": (
        "<table><b><tr><td>aaa</td></tr>bbb</table>ccc",
        "b(bbb) table(tbody(tr(td(aaa)))) b(ccc)",
    ),
    "a link ends where the next one begins": ("<a href=1>x<a href=2>y", "a(x) a(y)"),
    "headings and definitions": (
        "<h1>a<h2>b</h2><dl><dt>c<dd>d<dt>e</dl>",
        "h1(a) h2(b) dl(dt(c) dd(d) dt(e))",
    ),
    "text after the end": ("<body><p>a</body></html>b", "p(ab)"),
    "a comment without end": ("a<!-- b", "a"),
    "a tag without end": ("<p>a</p><img src='b", "p(a)"),
    "an image by another name": ("<image src=a.png>", "img"),
    "an end without beginning": ("</div>a</p>b", "a b"),
}


@pytest.mark.parametrize("case", REPAIRED)
def test_broken_pages_are_repaired_as_the_standard_says(case):
    html, expected = REPAIRED[case]
    assert body_of(html) == expected


def test_what_a_browser_does_not_show_is_left_out():
    html = """<!DOCTYPE html><html><head><title>No</title><style>p {}</style></head><body>
    <script>document.write("<p>No</p>")</script><template><p>No</p></template><!-- No -->
    <iframe src="no.html">No</iframe><svg><title>No</title><path d="M0 0"/></svg>
    <div><div> \n </div><p>&nbsp;</p><br></div><noscript><b>Yes</b></noscript>
    <p>  one \n two&nbsp;three </p></body></html>"""
    assert body_of(html) == "noscript(b(Yes)) p(one two three)"


def test_a_page_is_a_tree_in_document_order():
    page = parse_page(LAMP)
    assert page.parents[0] == -1
    assert all(0 <= parent < t for t, parent in enumerate(page.parents) if t)
    assert page.tags[:4] == ["html", "body", "h1", "#text"]
    assert page.is_leaf == [tag in ("#text", "img") for tag in page.tags]
    assert page.of_leaves(range(len(page.tags))) == np.flatnonzero(page.is_leaf).tolist()
    for t, (parent, depth, n_leaves) in enumerate(
        zip(page.parents, page.depths(), page.n_leaves(), strict=True)
    ):
        assert depth == (0 if parent < 0 else page.depths()[parent] + 1)
        inside = [n for n, above in zip(page.n_leaves(), page.parents, strict=True) if above == t]
        assert n_leaves == page.is_leaf[t] + sum(inside)
    with pytest.raises(ValueError):
        page.of_leaves(["name"])
    assert [bool(text) for text in page.texts] == [tag == "#text" for tag in page.tags]
    image = page.attributes[page.tags.index("img")]
    assert image == {
        "src": "a/lamp.JPG?x=1", "alt": "", "width": "120", "height": "90px", MARK: "image"
    }  # fmt: skip
    assert parse_page("<input checked><p data-x>a").attributes[-2] == {"data-x": ""}


# -- labels -------------------------------------------------------------------------------------


def test_marks_label_leaves_and_elements_their_sets():
    page = parse_page(LAMP)
    labels = dict(zip(zip(page.tags, page.texts, strict=True), page.labels(), strict=True))
    assert labels["img", ""] == "image"
    assert (
        labels["#text", "Desk"]
        == labels["#text", "Lamp"]
        == labels["#text", "TABLE LAMP"]
        == "name"
    )
    assert labels["#text", "Bright."] == "description"
    assert labels["#text", "more"] == labels["#text", "$ 25"] == labels["#text", "Lamps"] == "none"
    assert labels["#text", "20.00 EUR"] == "price"
    assert labels["html", ""] == "(description image name price)"
    assert labels["h1", ""] == labels["s", ""] == "()"
    assert labels["span", ""] == "(price)"


def test_records_are_pages_of_their_own():
    page = parse_page(LAMP)
    first, second = page.records()
    assert (
        drawn(first) == "div(a(img) h2(b(Desk) Lamp) p(Bright. a(more)) span(s($ 25) i(20.00 EUR)))"
    )
    assert first.labels() == page.labels()[4 : 4 + len(first.tags)]
    assert (drawn(second), second.parents) == ("div(p(TABLE LAMP))", [-1, 0, 1])
    assert parse_page("<p>none here").records() == []
    nested = '<div data-medn="record">a<div data-medn="record">b</div></div><p data-medn="record">c'
    assert [drawn(record) for record in parse_page(nested).records()] == ["div(a div(b))", "p(c)"]
    (image,) = parse_page('<img data-medn="record">').records()
    assert (image.tags, image.labels(), image.sample().edge_types) == (["img"], ["none"], [1])


def test_a_mark_around_a_record_does_not_reach_into_it():
    page = parse_page('<div data-medn="name">a<p data-medn="record">b</p></div>')
    assert page.labels() == ["(name)", "(name)", "(name)", "name", "()", "none"]
    assert page.records()[0].labels() == ["()", "none"]


def test_labels_never_mix():
    assert (*ATTRIBUTES, NOTHING) == LEAF_LABELS
    sets = [c for n in range(5) for c in combinations(sorted(ATTRIBUTES), n)]
    assert sorted(INNER_LABELS) == sorted(f"({' '.join(names)})" for names in sets)
    assert not set(LEAF_LABELS) & set(INNER_LABELS)
    sample = page_to_sample(LAMP)
    leaves = parse_page(LAMP).is_leaf
    assert sample.edge_types == list(map(int, leaves))
    expected = [LEAF_LABELS if leaf else INNER_LABELS for leaf in leaves]
    assert sample.allowed_labels == expected


def test_models_learn_pages_and_predict_a_leaf_label_at_each_leaf():
    pages = [parse_page(LAMP), *parse_page(LAMP).records()]
    samples = [page.sample() for page in pages]
    y = [page.labels() for page in pages]
    model = make_pipeline(SequenceVectorizer(), M3N(C=100.0)).fit(samples, y)
    assert model.score(samples, y) == 1.0
    other = parse_page(LAMP.replace("<s>$ 25</s>", "").replace("<b>Desk</b>", ""))
    (labels,) = model.predict([other.sample()])
    for label, leaf in zip(labels, other.is_leaf, strict=True):
        assert label in (LEAF_LABELS if leaf else INNER_LABELS)


# -- features -----------------------------------------------------------------------------------


def features(html: str, text: str = "") -> dict:
    """Features of the first leaf that has a text, or of the first image."""
    page = parse_page(html)
    at = page.texts.index(text) if text else page.tags.index("img")
    return page.tokens()[at]


def test_features_of_a_leaf_and_an_element_are_these():
    page = parse_page(LAMP).records()[0]
    tokens = page.tokens()
    assert tokens[0] == {
        "kind": "element", "tag": "div", "class": ["item", "big"], "children": "3", "leaves": "3",
        "depth": "0", "sibling": "0", "place": "0",
    }  # fmt: skip
    assert tokens[page.tags.index("img")] == {
        "kind": "image", "class": [], "alt": "empty", "width": "7", "height": "7", "ending": "jpg",
        "link": "local", "in": "a", "in class": [], "depth": "2", "sibling": "0", "place": "0",
    }  # fmt: skip
    assert tokens[page.texts.index("20.00 EUR")] == {
        "kind": "text", "currency": "code", "digits": "2", "length": "4", "capitals": "4",
        "shouting": True, "link": "none", "in": "i", "in class": [], "depth": "3", "sibling": "0",
        "place": "4",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("$20", "currency", "sign"),
        ("20 €", "currency", "sign"),
        ("USD5", "currency", "code"),
        ("CHF 5.-", "currency", "code"),
        ("EUROPE 5", "currency", "none"),
        ("no digits", "digits", "0"),
        ("1 in nine letters", "digits", "1"),
        ("12345", "digits", "4"),
        ("ab", "length", "2"),
        ("x" * 100_000, "length", "12"),
        ("no capital", "capitals", "0"),
        ("One capital", "capitals", "2"),
        ("All Of Them 3", "capitals", "4"),
        ("123", "capitals", "0"),
        ("SALE!", "shouting", True),
        ("Sale!", "shouting", False),
    ],
)
def test_patterns_of_texts(text, name, value):
    assert features(f"<p>{text}", text)[name] == value


@pytest.mark.parametrize(
    ("attributes", "name", "value"),
    [
        ("", "alt", "none"),
        ("alt=' '", "alt", "empty"),
        ("alt='a lamp'", "alt", "text"),
        ("width=1", "width", "1"),
        ("width=100%", "width", "7"),
        ("width=auto", "width", "none"),
        ("width=" + "9" * 5000, "width", "none"),
        ("src=a/b.tar.gz", "ending", "gz"),
        ("src='//c.example/d?e=f.png'", "ending", "none"),
        ("src='data:image/png;base64,AA'", "ending", "data"),
        ("class='big photo'", "class", ["big", "photo"]),
    ],
)
def test_attributes_of_images(attributes, name, value):
    assert features(f"<p><img {attributes}>")[name] == value


@pytest.mark.parametrize(
    ("href", "kind"),
    [
        ("/a/b", "local"),
        ("c.html#d", "local"),
        ("", "local"),
        ("https://e.example/f", "external"),
        ("//e.example", "external"),
        ("mailto:g@e.example", "other"),
        ("javascript:void(0)", "other"),
    ],
)
def test_links_reach_down_to_the_leaves(href, kind):
    html = f'<a href="{href}"><b><img></b></a><p><img><a name="x"><i>y</i></a></p>'
    assert features(html)["link"] == kind
    assert features(html, "y")["link"] == "none"


def test_positions():
    page = parse_page("<ul>" + "".join(f"<li>{k}</li>" for k in range(20)) + "</ul>")
    tokens = [token for token, tag in zip(page.tokens(), page.tags, strict=True) if tag == "li"]
    assert [token["sibling"] for token in tokens] == [str(min(k, 12)) for k in range(20)]
    assert [token["place"] for token in tokens] == [str(k // 4) for k in range(20)]
    assert {token["depth"] for token in tokens} == {"3"}
    assert parse_page("<b>" * 40 + "x").tokens()[-1]["depth"] == "12"


def test_marks_and_words_leave_no_trace_in_features():
    """Otherwise a model could read the answer off the page, or learn it by heart."""
    page = parse_page(LAMP)
    bare = parse_page(re.sub(r' data-medn="\w+"', "", LAMP))
    assert page.tokens() == bare.tokens()
    assert set(bare.labels()) == {"()", "none"}
    other = parse_page(LAMP.replace("Desk", "Rosy").replace("Bright.", "Dimmer!"))
    assert other.texts != page.texts
    assert other.tokens() == page.tokens()


def test_a_chain_has_the_leaves_with_their_features():
    page = parse_page(LAMP)
    chain, tree = page.chain(), page.sample()
    assert isinstance(chain, Forest)
    assert chain.parents is None
    assert chain.features == [
        f for f, leaf in zip(tree.features, page.is_leaf, strict=True) if leaf
    ]
    vectorizer = SequenceVectorizer().fit([tree])
    rows = vectorizer.transform([tree])[0].features[np.flatnonzero(page.is_leaf)]
    assert (vectorizer.transform([chain])[0].features != rows).nnz == 0


# -- bytes --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "html",
    [
        "<p>Café 5 €".encode(),
        "<p>Café 5 €".encode("utf-8-sig"),
        "\ufeff<p>Café 5 €".encode("utf-16-le"),
        "\ufeff<p>Café 5 €".encode("utf-16-be"),
        b"<meta charset=iso-8859-1><p>Caf\xe9 5 \x80",
        b"<META CHARSET = 'Windows-1252' /><p>Caf\xe9 5 \x80",
        b'<meta http-equiv="Content-Type" content="text/html; charset=latin1"><p>Caf\xe9 5 \x80',
        b"<meta name=a><meta charset='ISO-8859-15'><p>Caf\xe9 5 \xa4",
        "<!-- <meta charset=latin1> --><p>Café 5 €".encode(),
        "<meta charset=utf-16><p>Café 5 €".encode(),
        (" " * 1024 + "<meta charset=latin1><p>Café 5 €").encode(),
        '<meta name=a content="the charset=latin1 story"><meta charset=utf-8><p>Café 5 €'.encode(),
        '<meta name=a content="charset=foo explained"><p>Café 5 €'.encode(),
        "<meta name=a data-charset=latin1><p>Café 5 €".encode(),
        "<meta content='text/html; charset=latin1'><p>Café 5 €".encode(),
        "<script>a = '<meta charset=latin1>'</script><p>Café 5 €".encode(),
        b'<meta name="a>b" charset=""><meta charset=" latin1 "><p>Caf\xe9 5 \x80',
        "<meta charset=utf-8><p>Café 5 €".encode(),
        bytearray("<p>Café 5 €".encode()),
    ],
)
def test_bytes_are_read_in_their_encoding(html):
    assert text_of(html) == "Café 5 €"


def test_other_alphabets():
    assert text_of("<meta charset=shift_jis><p>電気スタンド".encode("shift_jis")) == "電気スタンド"
    assert text_of("<meta charset=koi8-r><p>Лампа".encode("koi8-r")) == "Лампа"


@pytest.mark.parametrize(
    ("name", "codec", "text"),
    [
        ("gb2312", "gb18030", "鎔 €"),
        ("GBK", "gb18030", "𠀀"),
        ("shift_jis", "cp932", "① 髙"),
        ("x-sjis", "cp932", "① 髙"),
        ("euc-kr", "cp949", "똠"),
        ("big5", "big5hkscs", "㗎"),
        ("windows-874", "cp874", "โคมไฟ €"),
        ("iso-8859-8-i", "iso8859-8", "מנורה"),
        ("x-mac-cyrillic", "mac-cyrillic", "Лампа"),
    ],
)
def test_encodings_mean_what_browsers_take_them_for(name, codec, text):
    assert text_of(f"<meta charset={name}><p>{text}".encode(codec)) == text


@pytest.mark.parametrize("name", ["klingon", "hex", "rot13", "unicode_escape", "undefined", "\xff"])
def test_unknown_encodings_are_named(name):
    with pytest.raises(
        ValueError, match=r"^html says that its encoding is .*; expected .*$"
    ) as error:
        parse_page(f"<meta charset={name}><p>a".encode("latin-1"))
    assert repr(name) in str(error.value)


@pytest.mark.parametrize(
    ("html", "text"),
    [
        (b"<p>Caf\xe9!", "Caf\ufffd!"),
        (b"<meta charset=latin1>a\x81b", "a\ufffdb"),
        (b"\xff\xfea\0<", "a\ufffd"),
        (b"<meta charset=euc-jp>a \xff", "a \ufffd"),
    ],
)
def test_bytes_that_the_encoding_does_not_have_are_replaced(html, text):
    assert text_of(html) == text


# -- bad input ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "html",
    ["", " \n", b"", "\0", "&nbsp;", "<p></p><br>", "<!-- a -->", "<title>a</title>",
     "<script>a</script>", "<frameset><frame src=a.html></frameset>"],
)  # fmt: skip
def test_pages_without_text_and_images_are_refused(html):
    with pytest.raises(ValueError, match=f"^{re.escape(EMPTY)}$"):
        page_to_sample(html)


@pytest.mark.parametrize("html", [None, 5, ["<p>a"], memoryview(b"<p>a")])
def test_other_types_are_refused(html):
    sentence = f"html is {html!r}; expected the text of a page, or bytes."
    with pytest.raises(TypeError, match=f"^{re.escape(sentence)}$"):
        parse_page(html)


@pytest.mark.parametrize("mark", ["title", "", "Name", "name price"])
def test_unknown_marks_are_named(mark):
    sentence = (
        f"the page has data-medn={mark!r} on an element <p>; expected one of name, image, price, "
        "description, none or record."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        parse_page(f'<p data-medn="{mark}">a')
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        Page(["p", "#text"], ["", "a"], [{MARK: mark}, {}], [-1, 0]).labels()
    assert body_of(f'<p>a</p><p data-medn="{mark}"></p>') == "p(a)"  # nothing to label


def test_halves_of_characters_are_replaced():
    assert text_of("<p>a\ud83db") == "a\ufffdb"
    assert text_of("<p>\ud83d\ude00") == "\U0001f600"


def test_without_selectolax_a_sentence_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "selectolax.lexbor", None)
    with pytest.raises(ImportError, match=re.escape("pip install 'medn_edu[web]' installs it.")):
        parse_page("<p>a")


def test_scripts_do_not_run_and_nothing_is_fetched(monkeypatch):
    def refuse(*arguments: object) -> None:
        raise AssertionError("a page asks for the network")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    html = """<base href="http://a.example/"><link rel=stylesheet href=b.css><p onclick="c()">d</p>
    <script src="e.js"></script><script>document.body.innerHTML = "f"</script><img src="g.png">
    <iframe src="h.html"></iframe><object data="i.swf"></object>
    <meta http-equiv="refresh" content="0; url=http://j.example/">"""
    assert body_of(html) == "p(d) img"


TAGS = [
    "p",
    "b",
    "i",
    "a",
    "table",
    "tr",
    "td",
    "ul",
    "li",
    "div",
    "select",
    "option",
    "form",
    "svg",
]
PIECES = st.one_of(
    st.sampled_from([f"<{tag}>" for tag in TAGS] + [f"</{tag}>" for tag in TAGS]),
    st.sampled_from(
        ["<img>", "<script>", "<!--", "-->", "<![CDATA[", "<a href=", '"', "&amp", "\0", ">"]
    ),
    st.sampled_from([f'<p data-medn="{label}">' for label in (*LEAF_LABELS, "record")]),
    st.text(max_size=5),
)


@given(st.one_of(st.text(), st.binary(), st.lists(PIECES, max_size=40).map("".join)))
def test_any_text_is_a_page_or_refused_in_one_sentence(html):
    try:
        page = parse_page(html)
    except ValueError as error:
        assert re.fullmatch(r"html (has|says) [^\n]*; expected [^\n]*\.", str(error))
        return
    assert page.parents[0] == -1
    assert all(0 <= parent < t for t, parent in enumerate(page.parents) if t)
    leaves = page.is_leaf
    assert set(range(len(leaves))) - set(page.parents) == {
        t for t, leaf in enumerate(leaves) if leaf
    }
    labels = page.labels()
    for record in (page, *page.records()):
        assert len(record.tokens()) == len(record.labels()) == len(record.tags)
    for label, leaf in zip(labels, leaves, strict=True):
        assert label in (LEAF_LABELS if leaf else INNER_LABELS)
    below = {name for name, leaf in zip(labels, leaves, strict=True) if leaf} - {NOTHING}
    assert labels[0] == f"({' '.join(sorted(below))})"
    SequenceVectorizer().fit([page.sample(), page.chain()])


def test_deep_pages():
    page = parse_page('<div class="a">' * 10_000 + '<i data-medn="name">x')
    assert len(page.tags) == 10_004
    assert page.labels()[:2] == ["(name)", "(name)"]
    assert page.tokens()[-1]["depth"] == "12"
    nested = parse_page('<div data-medn="record">' * 10_000 + "x")
    assert len(nested.records()) == 1


@pytest.mark.alone
def test_large_pages():
    item = '<p class="a b">Hello $20 World <b data-medn="name">x</b><img src="a.png"></p>'
    start = time.perf_counter()
    page = parse_page(item * 20_000)
    sample = page.sample()
    labels = page.labels()
    assert time.perf_counter() - start < 4.0
    assert len(sample.features) == len(labels) == 100_002
    assert labels.count("name") == 20_000
