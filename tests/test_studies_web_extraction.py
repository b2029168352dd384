"""The study of product pages: which records train, judge and test, its scores, its intervals."""

from dataclasses import replace

import numpy as np
import pytest

from medn_edu.intervals import half_interval
from medn_edu.studies.kit.fair import NAMES
from medn_edu.studies.kit.selection import Selected
from medn_edu.studies.kit.specs import FitSpec
from medn_edu.studies.kit.web import (
    FLAT,
    N_DEALT,
    N_JUDGING,
    N_TEST,
    N_TRAIN,
    PER_LEAF,
    TOLD,
    chosen_records,
    n_drawn,
    page_split,
    product_records,
)
from medn_edu.studies.web_extraction import (
    CHOOSES_AT,
    LEFT_OUT_AT,
    ORDER,
    SHARES,
    TOLD_SHARES,
    WEB_STUDY,
    lines_of,
    overlap_of,
    scores_of_leaves,
)
from medn_edu.text.pages import LEAF_LABELS

pytest.importorskip("selectolax")


def test_there_are_as_many_records_as_in_the_papers():
    train, test = product_records(0)
    assert (len(train.pages), len(test.pages)) == (N_TRAIN, N_TEST) == (1585, 3391)
    assert len(set(train.template)) == 37
    assert set(train.template) == set(test.template)


def test_draws_grow_and_what_judges_is_in_none():
    found = {share: chosen_records(f"web-{share}", 3, 0) for share in SHARES}
    for share, (train, judge, test) in found.items():
        assert len(train) == len(set(train)) == n_drawn(share)
        assert train.tolist() == found[50][0][: len(train)].tolist()
        assert len(set(judge)) == N_JUDGING
        assert not set(judge) & set(found[50][0])
        assert len(test) == N_TEST
    assert set(found[5][0]) != set(chosen_records("web-5", 4, 0)[0])


def test_templates_that_test_neither_train_nor_judge():
    train_pages, test_pages = product_records(0)
    tested = []
    for fold in range(N_DEALT):
        for share in (CHOOSES_AT, LEFT_OUT_AT):
            train, judge, test = chosen_records(f"templates-{share}", fold, 0)
            assert len(train) == n_drawn(share)
            assert N_JUDGING / 2 < len(judge) <= N_JUDGING
            parts = [set(train_pages.template[train]), set(train_pages.template[judge])]
            parts.append(set(test_pages.template[test]))
            assert sum(map(len, parts)) == len(set.union(*parts))
            assert len(set.union(*parts)) == 37 or share == CHOOSES_AT  # two records per template
        tested += test.tolist()
    assert sorted(tested) == list(range(N_TEST)), "each template is left out once"


def test_trees_and_chains_have_the_same_leaves():
    spec = FitSpec("web-5", 0, "M3N")
    tree, flat, alone = (
        page_split(replace(spec, model=name), validate=True)
        for name in ("M3N", f"M3N{FLAT}", PER_LEAF)
    )
    assert len(tree.X_train) == n_drawn(5) + N_JUDGING
    is_leaf = [np.isin(names, LEAF_LABELS) for names in tree.y_train]
    sums = tree.X_train.cut(tree.X_train.features @ np.ones(tree.X_train.n_features))
    for other in (flat, alone):
        found = other.X_train.cut(other.X_train.features @ np.ones(other.X_train.n_features))
        for k, leaf in enumerate(is_leaf):
            assert tree.y_train[k][leaf].tolist() == other.y_train[k].tolist()
            if k < n_drawn(5):  # others may have features that only inner nodes of these have
                assert sums[k][leaf].tolist() == found[k].tolist()
    assert set(alone.X_train.parents) == {-1}
    assert is_chains(flat.X_train)
    assert not is_chains(tree.X_train)
    for split in (tree, flat, alone):  # features that none of these has are dropped
        seen = set(split.X_train.take(np.arange(n_drawn(5))).features.indices)
        assert seen == set(range(split.X_train.n_features)) == set(range(split.X_test.n_features))


def is_chains(samples):
    parents = np.arange(samples.n_nodes) - 1
    parents[samples.offsets[:-1]] = -1
    return np.array_equal(samples.parents, parents)


def test_ancestors_of_a_leaf_are_among_its_features():
    spec = FitSpec("web-5", 0, "M3N")
    plain, more, chain = (
        page_split(replace(spec, model=name)).X_train
        for name in (PER_LEAF, f"{PER_LEAF}{TOLD}", f"M3N{FLAT}{TOLD}")
    )
    assert is_chains(chain)
    assert (more.features != chain.features).nnz == 0
    added = more.features.getnnz(axis=1) - plain.features.getnnz(axis=1)
    train, _, _ = chosen_records("web-5", 0, 0)
    for n_around, number in zip(plain.split(added), train, strict=True):
        page = product_records(0)[0].pages[number]
        around = []  # of each leaf: the tags and classes of all elements that it stands in
        for leaf in np.flatnonzero(page.is_leaf):
            found, t = set(), page.parents[leaf]
            if page.tags[leaf] == "img":
                found |= {f".{each}" for each in page.attributes[leaf].get("class", "").split()}
            while t >= 0:
                found.add(page.tags[t])
                found |= {f".{each}" for each in page.attributes[t].get("class", "").split()}
                t = page.parents[t]
            around.append(len(found))
        assert n_around.tolist() == around


def test_scores_by_hand():
    truth = [
        ["(name price)", "name", "price", "none"],
        ["(image)", "image", "none", "description"],
    ]
    right = scores_of_leaves(truth, truth)
    assert {right[score] for score in ("f1", "block", "f1_name", "f1_description")} == {1.0}
    assert (right["error"], right["n_leaves"]) == (0.0, 6)

    found = [["(name)", "name", "price", "price"], ["()", "image", "none", "none"]]
    scores = scores_of_leaves(truth, found)
    assert scores["f1_price"] == pytest.approx(2 / 3)  # one found, and one too many
    assert scores["f1_description"] == 0
    assert scores["f1"] == pytest.approx((1 + 1 + 2 / 3 + 0) / 4)
    assert scores["block"] == 0.5, "the description does not count"
    assert scores["error"] == pytest.approx(2 / 6), "inner nodes do not count"
    nothing = scores_of_leaves([["none"]], [["none"]])
    assert (nothing["f1"], nothing["block"]) == (1, 1)


@pytest.mark.parametrize("scale", ["quick", "paper"])
def test_each_draw_chooses_once(scale):
    specs = WEB_STUDY.fits(scale, 0)
    keys = {spec.key: spec for spec in specs}
    assert len(keys) == len(specs)
    for spec in specs:
        model = WEB_STUDY.fit.build(spec)
        if spec.data.startswith("times"):
            continue
        chooses = spec.data.endswith(f"-{CHOOSES_AT}") and not spec.model.startswith("CRF")
        assert isinstance(model, Selected) == chooses
        if chooses:
            assert model.blocks == (n_drawn(CHOOSES_AT),)
            assert model.judged == LEAF_LABELS
        elif not spec.model.startswith("CRF"):
            by = keys[spec.after]
            assert (by.model, by.fold, by.data.split("-")[0]) == (
                spec.model, spec.fold, spec.data.split("-")[0],
            )  # fmt: skip
    if scale == "paper":
        shares = {spec.model: [] for spec in specs}
        for spec in specs:
            if spec.data.startswith("web") and spec.fold == 0:
                shares[spec.model].append(int(spec.data.removeprefix("web-")))
        for name in ORDER:
            is_told = name.endswith(f"{FLAT}{TOLD}")
            assert sorted(shares[name]) == list(TOLD_SHARES if is_told else SHARES)
        assert len(ORDER) == 3 * len(NAMES) + 2


def test_draws_that_share_records_say_less():
    assert overlap_of("web-50") == 1
    assert overlap_of("web-5") == pytest.approx(1 / 19)
    assert overlap_of("templates-40") == pytest.approx(1 / 3)


def test_lines_compare_the_same_draws():
    rng = np.random.default_rng(0)
    rows = [
        {"data": "web-50", "fold": fold, "model": name, "n_train": 792, "f1": 0.9 + more + hard,
         "block": 0.5, "error": 0.1, **{f"f1_{a}": 0.9 for a in LEAF_LABELS[:-1]}}
        for fold, hard in enumerate(0.01 * rng.standard_normal(10))
        for name, more in {"M3N": 0, "CRF": -0.02, f"CRF{FLAT}": -0.05}.items()
    ]  # fmt: skip
    found = {line["model"]: line for line in lines_of(rows)}
    assert list(found) == ["CRF", "M3N", f"CRF{FLAT}"]
    assert found["M3N"]["against"] is None
    assert found["CRF"]["f1_more"] == pytest.approx(-0.02), "from M3N"
    assert found[f"CRF{FLAT}"]["f1_more"] == pytest.approx(-0.03), "from CRF on trees"
    assert found["CRF"]["f1_more_interval"] == pytest.approx(0)
    scores = [row["f1"] for row in rows if row["model"] == "M3N"]
    assert found["M3N"]["f1_interval"] == pytest.approx(half_interval(scores, overlap=1))
