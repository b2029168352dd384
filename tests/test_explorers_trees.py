"""Explorers of trees: messages on the DOM tree of a page, and the sentiment of phrases."""

import re
from typing import Any

import numpy as np
import pytest
from matplotlib.colors import to_hex

from medn_edu.datasets import make_opinions
from medn_edu.explorers import ERROR, draw_tree, new_figure, pages, sentiment
from medn_edu.explorers.kit.trees import tree_places
from medn_edu.explorers.pages import (
    STRUCTURES,
    film_of,
    laid_out,
    read_leaves,
    two_models,
)
from medn_edu.explorers.sentiment import SIGNS, prepared, without
from medn_edu.inference import Potentials, best_labelling, node_potentials
from medn_edu.samples import pack
from medn_edu.text import ATTRIBUTES, LEAF_LABELS, read_parse

TREE, CHAIN = STRUCTURES


@pytest.fixture(scope="module")
def shown() -> Any:
    tree, chain, records = two_models()
    return {TREE: tree, CHAIN: chain}, records, pages()


def films(shown: Any) -> Any:
    models, records, _ = shown
    for name, record in records.items():
        for structure, model in models.items():
            yield record, structure, model, film_of(model, record, structure), name


@pytest.mark.filterwarnings("ignore:.*fit did not see")
def test_messages_end_in_the_best_labelling(shown: Any) -> None:
    """Of the compiled inference, and of the model's prediction."""
    for record, structure, model, film, _ in films(shown):
        frame = film.frame(film.n_steps)
        [sample] = model[:-1].transform([record.sample() if structure == TREE else record.chain()])
        samples, network = pack([sample]).forests, model[-1]
        leaf = np.array(record.is_leaf)[film.nodes]
        mask = np.isin(network.classes_, LEAF_LABELS) == leaf[:, None]
        node = node_potentials(samples, network.coef_, mask)
        labels, [score] = best_labelling(Potentials(samples, node, network.transitions_))
        assert frame.labels == network.classes_[labels].tolist()
        assert film.down[0].max() == pytest.approx(score)
        given = [label for label, is_leaf in zip(frame.labels, leaf, strict=True) if is_leaf]
        assert read_leaves(model, [record], structure) == [given]


def test_leads_are_those_of_the_labels_and_change_when_a_node_is_computed(shown: Any) -> None:
    for _, _, _, film, _ in films(shown):
        n = len(film.nodes)
        for step in range(2 * n + 1):
            frame, before = film.frame(step), film.frame(max(step - 1, 0))
            for leads, label in zip(frame.leads, frame.labels, strict=True):
                has = [attribute in label.strip("()").split() for attribute in ATTRIBUTES]
                assert (leads > 0).tolist() == has or np.abs(leads).min() < 1e-9
            changed = np.flatnonzero(np.abs(frame.leads - before.leads).max(axis=1) > 1e-12)
            assert set(changed.tolist()) <= {frame.now}
            assert frame.stages.sum() == step
        assert film.frame(2 * n + 9).now == n - 1, "the end lasts"


def test_a_record_is_read_right_by_one_of_two_and_mistakes_are_marked(shown: Any) -> None:
    models, records, explorer = shown
    right = {
        name: [
            read_leaves(models[s], [record], s) == [record.of_leaves(record.labels())]
            for s in STRUCTURES
        ]
        for name, record in records.items()
    }
    assert list(right.values()) == [[True, False]] * 4 + [[False, True]]
    for name, answers in right.items():
        for structure, good in zip(STRUCTURES, answers, strict=True):
            explorer.set(record=name, structure=structure, step=50)
            explorer.frame()
            left, _ = explorer.figure.axes
            framed = [
                patch
                for patch in left.patches
                if patch.get_visible() and to_hex(patch.get_edgecolor()) == ERROR.lower()
            ]
            crosses = [t for t in left.texts if t.get_visible() and t.get_text().startswith("✗")]
            assert len(framed) == len(crosses) == (0 if good else len(framed))
            assert good or crosses
            knows = "(chain ✓)" if structure == TREE else "(tree ✓)"
            assert all(knows in cross.get_text() for cross in crosses)
            assert explorer.summary.endswith(
                f"{len(crosses)} of {sum(records[name].is_leaf)} leaves wrong."
            )


def test_the_crossed_out_price_is_the_chains_mistake_and_comes_down_from_its_element(
    shown: Any,
) -> None:
    """As the chapter tells it."""
    models, records, _ = shown
    record = records["plugin-shop"]
    film = film_of(models[TREE], record, TREE)
    texts = {text: t for t, text in enumerate(record.texts) if text}
    tags = {tag: t for t, tag in enumerate(record.tags)}
    old, price = texts["32.95"], texts["21.95"]
    assert film.frame(0).labels[price] == "none"
    assert film.frame(0).labels[tags["ins"]] == "(price)"
    at_20 = film.frame(20)
    assert record.attributes[film.nodes[at_20.now]] == {"class": "price"}
    assert (at_20.labels[tags["del"]], at_20.labels[tags["ins"]]) == ("()", "(price)")
    end = film.frame(film.n_steps)
    assert (end.labels[old], end.labels[price]) == ("none", "price")
    of_chain = film_of(models[CHAIN], record, CHAIN)
    read = dict(zip(of_chain.nodes.tolist(), of_chain.frame(99).labels, strict=True))
    assert (read[old], read[price]) == ("price", "price")


def test_a_page_is_boxes_within_boxes(shown: Any) -> None:
    _, records, _ = shown
    for record in records.values():
        placed = {node: (left, top, tall) for node, left, top, tall in laid_out(record)}
        assert {node for node, leaf in enumerate(record.is_leaf) if leaf} <= set(placed)
        for node, (left, top, tall) in placed.items():
            above = record.parents[node]
            while above >= 0 and above not in placed:
                above = record.parents[above]
            if above >= 0:
                outer_left, outer_top, outer_tall = placed[above]
                assert outer_left < left
                assert outer_top < top
                assert top + tall < outer_top + outer_tall + 1e-9


def test_sentences_turn_as_the_rules_say() -> None:
    explorer = sentiment()
    sentences, last = (explorer.controls[key].values for key in ("sentence", "step"))
    assert len(sentences) == 6
    opinions = make_opinions(1200)
    truth = {" ".join(p.words): y for p, y in zip(opinions.data, opinions.target, strict=True)}
    names = ("very negative", "negative", "neutral", "positive", "very positive")
    at_end = {"step": last[-1], "edges": True}

    def said(**values: Any) -> str:
        return explorer.set(**{**at_end, **values}).summary.split("” is ")[1]

    for sentence in sentences:
        name = names[int(truth[sentence][0])]
        assert said(sentence=sentence, word=True).startswith(f"{name} (truth: {name});")
        assert not said(word=False).startswith(f"{name};")
        assert said(word=True, step=0).startswith("undecided;"), "the truth would be the answer"
        assert said(edges=False).startswith("undecided")
        shown = [text.get_text() for text in explorer.figure.axes[0].texts if text.get_visible()]
        assert all(word in shown for word in sentence.split())


def test_the_sign_turns_at_not_on_the_way_up() -> None:
    shown, model = prepared(None, None)
    sentence = shown["it was not wonderful ."]
    film = model.film(sentence.parse)
    assert [frame.now for frame in film] == [-1, 5, 3, 1, 0, -1]
    assert [sentence.parse.phrase(frame.now) for frame in film[1:3]] == [
        "not wonderful",
        "was not wonderful",
    ]
    signs = [[SIGNS[label] for label in frame.labels] for frame in film]
    assert signs[0] == ["?", "?", "0", "?", "0", "?", "0", "++", "0"]
    assert signs[1] == ["?", "?", "0", "?", "0", "−", "0", "++", "0"]
    assert signs[-1] == ["−", "−", "0", "−", "0", "−", "0", "++", "0"]
    assert np.bincount(film[-1].labels).tolist() == [0, 4, 4, 0, 1]


def test_a_word_is_taken_out_of_a_tree() -> None:
    parse, _ = read_parse("(1 (2 it) (1 (2 is) (1 (2 not) (3 (2 very) (3 good)))))")
    less = without(parse, 5)
    assert less.words == ("it", "is", "very", "good")
    assert less.parents == (-1, 0, 0, 2, 2, 4, 4)
    parse, _ = read_parse("(3 (1 dull) (3 (2 but) (3 funny)))")
    assert without(parse, 3) == parse._replace(words=("dull", "and", "funny"))
    parse, _ = read_parse("(2 (2 it) (2 (2 is) (2 not) (2 bad)))")
    assert without(parse, 4) == read_parse("(2 (2 it) (2 (2 is) (2 bad)))")[0]
    with pytest.raises(ValueError, match="'not' is the only word"):
        without(read_parse("(1 not)")[0], 0)


def test_a_word_is_taken_out_of_a_deep_tree() -> None:
    n = 3000
    parse, _ = read_parse("(1 (2 a) " * n + "(1 (2 not) (3 good))" + ")" * n)
    less = without(parse, parse.n_nodes - 2)
    assert less == read_parse("(1 (2 a) " * n + "(3 good)" + ")" * n)[0]


def test_what_cannot_be_shown_is_refused(shown: Any) -> None:
    models, records, _ = shown
    X, y = zip(*map(read_parse, ["(1 (2 not) (3 good))", "(3 good)"] * 3), strict=True)
    few = dict(list(records.items())[:1])
    for attempt, said in (
        (lambda: pages(models[TREE]), "or none of them"),
        (lambda: pages(models[TREE], models[CHAIN], few), "holds 1 records; expected two or more"),
        (lambda: sentiment(X), "or neither of them"),
        (lambda: sentiment(X, y), "y has 3 labels; expected 5"),
        (lambda: sentiment(*five_without_cues()), "no sentence to show"),
    ):
        with pytest.raises(ValueError, match=said):
            attempt()


def test_arguments_of_other_types_are_refused(shown: Any) -> None:
    models, records, _ = shown
    tree, chain = models[TREE], models[CHAIN]
    attempts: Any = (
        (lambda: pages(1, 2, records), "tree is 1; expected a Pipeline"),  # type: ignore
        (lambda: pages(tree, 2, records), "chain is 2; expected a Pipeline"),  # type: ignore
        (lambda: pages(tree, chain, [1, 2]), "records is .*; expected a dict"),  # type: ignore
        (lambda: pages(tree, chain, {"a": 1}), "'a'. is 1; expected a Page"),  # type: ignore
        (lambda: sentiment(["(1 a)"], [list("01234")]), "expected a Parse"),  # type: ignore
    )
    for attempt, said in attempts:
        with pytest.raises(TypeError, match=said):
            attempt()


def five_without_cues() -> Any:
    pairs = [read_parse(f"({label} word{label})") for label in range(5)] * 2
    X, y = zip(*pairs, strict=True)
    return list(X), list(y)


def test_trees_are_drawn_with_parents_above_the_middle_of_their_children() -> None:
    parents = [-1, 0, 1, 1, 0]
    places = tree_places(parents, [0, 0, 2.0, 1.0, 3.0], row=0.5)
    assert places.tolist() == [[0.125, 1.0], [-1.25, 0.5], [-2.0, 0.0], [-0.5, 0.0], [1.5, 0.0]]
    ax = new_figure(3, 2).add_subplot()
    draw_tree(ax, parents, list("abcde"), ["", "1", "2", "3", "4"], marked=[2])
    assert {text.get_text() for text in ax.texts} == set("abcde1234")
    assert len(ax.lines) == 4
    widths = {text.get_text(): text.get_bbox_patch().get_linewidth() for text in ax.texts}
    assert widths["c"] > widths["a"] == widths["e"]


def test_steps_beyond_the_end_show_the_last_state_and_say_so() -> None:
    explorer = sentiment()
    *_, last = explorer.controls["step"].values
    short = min(explorer.controls["sentence"].values, key=len)
    beyond = explorer.set(sentence=short, step=last).summary
    start, n_steps, rest = re.fullmatch(r"(Step \d+: done after (\d+))(, .*)", beyond).group(
        1, 2, 3
    )
    assert start == f"Step {last}: done after {n_steps}"
    assert explorer.set(step=int(n_steps)).summary == f"Step {n_steps} of {n_steps}{rest}"
