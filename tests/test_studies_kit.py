"""What studies have in common: keys of fits, counts of weights, tables and the parts of reports."""

import math
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from medn_edu import studies
from medn_edu.explorers import series_style
from medn_edu.intervals import bootstrap_means
from medn_edu.studies.kit import stored
from medn_edu.studies.kit import summary as s
from medn_edu.studies.kit.models import MODELS, make_model, sparsity
from medn_edu.studies.kit.selection import TRIED
from medn_edu.studies.kit.stored import stored_folder, stored_rows, stored_studies
from medn_edu.studies.kit.tables import csv_text, read_csv
from medn_edu.studies.kit.texts import Texts, bullets, listed, over, paragraphs
from medn_edu.studies.registry import STUDIES

VALUES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()


def test_studies_and_fits_have_files_places_and_keys_of_their_own():
    places = [study.place for study in STUDIES.values()]
    assert places == sorted(places)
    for study in STUDIES.values():
        assert study.summary
        file = Path(studies.__file__).with_name(f"{study.name.replace('-', '_')}.py")
        assert f'"{study.name}",' in file.read_text(encoding="utf-8")
        assert file.with_suffix(".md").is_file()
        for scale in ("quick", "paper"):
            seeds = (0, 1) if study.scaled else (0,)
            specs = [spec for seed in seeds for spec in study.fits(scale, seed)]
            assert len({spec.key for spec in specs}) == len(specs) > 0


def test_quick_is_a_part_of_paper():
    """But for smaller images, fewer chorales and trees, and choices of constants on less of the data."""

    less = "".join(f"/{name}={value:g}" for name, value in TRIED["quick"])  # in keys

    def with_all_parts(spec):
        parameters = tuple(pair for pair in spec.parameters if pair not in TRIED["quick"])
        return replace(spec, parameters=parameters, after=spec.after.replace(less, ""))

    for study in (
        study
        for study in STUDIES.values()
        if study.trains and study.name not in ("denoising", "chorales", "sentiment")
    ):
        quick = {with_all_parts(spec) for spec in study.fits("quick", 0)}
        assert quick <= set(study.fits("paper", 0))


def test_models_look_different():
    styles = [series_style(name) for name in MODELS]
    for key in ("color", "linestyle", "marker"):
        assert len({style[key] for style in styles}) == len(MODELS)


def test_counts_of_weights_and_support_labellings():
    X, y = [np.eye(3), np.eye(3)[::-1]], ["abc", "cba"]
    for name, model in MODELS.items():
        fitted = make_model(name, **dict(model.parameters)).fit(X, y)
        counts = sparsity(fitted)
        sizes = np.sort(np.abs(fitted.weights_))
        assert counts["n_nonzero"] == (sizes > 0).sum()
        assert (sizes[-counts["n_large"] :] >= sizes[-1] / 100).all()
        assert (sizes[: -counts["n_large"]] < sizes[-1] / 100).all()
        if counts["n_support"] is not None:
            alpha = fitted.result_.alpha
            words = np.split(alpha.labels, alpha.offsets[1:-1])
            true = [[0, 1, 2], [2, 1, 0]]
            wrong = [list(w) != true[i] for w, i in zip(words, alpha.sample, strict=True)]
            assert counts["n_support"] == np.sum(wrong & (alpha.values > 0)) / 2 > 0


@given(st.lists(st.fixed_dictionaries({"model": VALUES, "error": VALUES})))
def test_reading_and_writing_settles_at_once(rows):
    text = csv_text(rows, ["model", "error"])
    assert csv_text(read_csv(text), ["model", "error"]) == text


def test_cells_of_tables():
    assert csv_text([{"a": float("nan")}, {"a": None}, {}], ["a", "b"]) == "a,b\n,\n,\n,\n"
    assert csv_text([{"a": "first\n  second"}], ["a"]) == "a\nfirst second\n"
    rows = [{"a": 1 / 3, "b": 2.0, "c": "text"}, {"a": -0.0, "b": 7, "c": None}]
    text = csv_text(rows, ["a", "b", "c"], exact=True)
    assert text == "a,b,c\n0.3333333333333333,2.0,text\n0.0,7,\n"
    assert read_csv(text, exact=True) == rows
    with pytest.raises(ValueError, match="line 3 of the table has 1 cells; expected 2"):
        read_csv("a,b\n1,2\n3\n")
    with pytest.raises(ValueError, match="empty"):
        read_csv("")


def test_times_join_their_rows(tmp_path):
    (tmp_path / "toy.csv").write_text("model,parameters,error\nM3N,C=1,0.5\nM3N,C=2,\n")
    assert stored_rows("toy", tmp_path)[0] == {"model": "M3N", "parameters": "C=1", "error": 0.5}
    times = tmp_path / "toy-times.csv"
    times.write_text("model,parameters,seconds\nM3N,C=1,3\nM3N,C=2,4\n")
    rows = stored_rows("toy", tmp_path)
    assert rows[1] == {"model": "M3N", "parameters": "C=2", "error": None, "seconds": 4}
    for other in ("model,parameters,seconds\nM3N,C=1,3\n", "model,seconds\nM3N,3\nCRF,3\n"):
        times.write_text(other)
        with pytest.raises(ValueError, match=r"toy-times\.csv belongs to another run"):
            stored_rows("toy", tmp_path)
    (tmp_path / "toy.csv").write_text("a,b\n1\n")
    with pytest.raises(ValueError, match=r"toy\.csv is damaged: line 2"):
        stored_rows("toy", tmp_path)


def test_tables_are_found_here_and_beside_the_package_of_a_wheel(tmp_path, monkeypatch):
    for name in stored_studies():
        assert stored_rows(name), name
    with pytest.raises(FileNotFoundError, match="no table of 'orc' is stored; `medn-edu reproduce"):
        stored_rows("orc")
    shutil.copy(stored_folder() / "kl-norm.csv", tmp_path)
    monkeypatch.setattr(stored, "FOLDERS", (tmp_path, *stored.FOLDERS))
    assert stored_studies() == ["kl-norm"]
    assert stored_rows("kl-norm")
    monkeypatch.setattr(stored, "FOLDERS", (tmp_path / "nowhere",))
    with pytest.raises(FileNotFoundError, match="missing from this installation"):
        stored_rows("kl-norm")


def fit(model, fold, error, n_train=100, **more):
    return {"model": model, "data": "d", "fold": fold, "n_train": n_train, "error": error, **more}


ROWS = [
    fit("M3N", 0, 0.1, 200), fit("M3N", 0, 0.2), fit("M3N", 1, 0.4),
    fit("CRF", 1, 0.5), fit("CRF", 0, None), fit("CRF", 2, 0.9),
]  # fmt: skip


def test_groups_keep_their_order_unless_told_otherwise():
    found = s.groups(ROWS, "model")
    assert list(found) == ["M3N", "CRF"]
    assert [row["fold"] for row in found["CRF"]] == [1, 0, 2]
    keys = s.groups(ROWS, "model", lambda row: row["fold"] > 0, order=lambda key: key)
    assert list(keys) == [("CRF", False), ("CRF", True), ("M3N", False), ("M3N", True)]
    assert s.most(found.values()) == 3
    assert (s.groups([], "model"), s.most([])) == ({}, 0)


def test_missing_values_are_left_out():
    crf = [*s.groups(ROWS, "model")["CRF"], {"model": "CRF"}, fit("CRF", 3, math.nan)]
    assert s.values(crf, "error").tolist() == [0.5, 0.9]
    assert s.values(crf, lambda row: row.get("error") and 2 * row["error"]).tolist() == [1.0, 1.8]
    assert s.mean(ROWS, "error") == pytest.approx(0.42)
    assert s.largest(crf, "error") == 0.9
    assert s.largest([{"gap": math.inf}], "gap") == math.inf
    assert s.mean(crf, "gap") is s.largest(crf, "gap") is None


def test_a_mean_knows_its_interval():
    found = s.mean_of([1.0, 2.0, 4.0])
    low, high = stats.t.interval(0.95, 2, 7 / 3, stats.sem([1, 2, 4]))
    assert (found.value, found.n) == (pytest.approx(7 / 3), 3)
    assert (found.value - found.half, found.value + found.half) == pytest.approx((low, high))
    assert found.sign == 0
    assert [s.mean_of(x).sign for x in ([3, 3.1], [-3, -3.1], [5.0], [2, 2, 2])] == [1, -1, 0, 1]
    one, none = s.mean_of([5.0]), s.mean_of([])
    assert (one.value, one.deviation, one.half, one.n) == (5.0, None, None, 1)
    assert math.isnan(none.value)
    assert none.n == 0


def test_errors_on_few_words_are_drawn_anew_by_word_too():
    """Three folds agree, but as each of them errs on one word only, their mean is not sure."""
    rows = [{**fit("CRF", k, 0.2), "word_errors": "4 0 0"} for k in range(3)]
    others = [{**fit("M3N", k, 0.1), "word_errors": "1 1 2"} for k in range(3)]
    np.testing.assert_allclose(s.scores(rows), 3 * [[0.2, 0, 0]])
    np.testing.assert_allclose(s.differences(rows, others)[0], [0.175, -0.025, -0.05])
    by_fold, by_word = s.mean_of(s.values(rows, "error")), s.mean_of(s.scores(rows))
    assert by_word.value == by_fold.value == pytest.approx(0.2)
    assert by_fold.half == pytest.approx(0, abs=1e-15)
    assert by_word.half == pytest.approx(0.3), "the word is drawn at most three times"
    assert s.scores([*rows, fit("CRF", 3, 0.2)]).shape == (4,), "one does not tell"
    assert s.scores([*rows, fit("CRF", 3, None)]).shape == (3, 3), "and one has failed"
    with pytest.raises(ValueError, match=r"^word_errors count different numbers of words;"):
        s.scores([*rows, {**fit("CRF", 3, 0.2), "word_errors": "1 2"}])


def test_means_are_drawn_from_lines_and_columns():
    means = bootstrap_means(np.arange(12.0).reshape(3, 4) ** 2)
    assert np.quantile(means, [0.025, 0.975]).tolist() == [17, 364]
    assert means.mean() == pytest.approx(167.60933, abs=1e-4), (
        "of this seed, as in the stored tables"
    )
    with pytest.raises(ValueError, match=r"^table has the shape \(3,\); expected finite numbers"):
        bootstrap_means([1.0, 2.0, 3.0])


def test_few_folds_are_not_surer_than_students_interval():
    few = [
        {**fit("CRF", k, error), "word_errors": "1 1 1"} for k, error in enumerate([0.1, 0.3, 0.8])
    ]
    assert s.mean_of(s.scores(few)).half == s.mean_of([0.1, 0.3, 0.8]).half


def test_rows_of_words_and_without_are_compared_by_fold():
    rows = [{**fit("CRF", k, 0.2), "word_errors": "4 0 0"} for k in range(3)]
    assert s.differences(rows, [fit("M3N", 0, 0.1)]) == pytest.approx([0.1])


def test_differences_are_taken_on_the_same_data_and_fold():
    found = s.groups([row for row in ROWS if row["n_train"] == 100], "model")
    m3n, crf = found["M3N"], found["CRF"]
    assert s.differences(crf, m3n) == pytest.approx([0.1])
    assert len(s.pairs(crf, m3n)) == 2, "with and without an error"
    assert s.differences(crf, m3n, by=[lambda row: row["fold"] % 2]) == pytest.approx([0.1, 0.7])
    [less] = s.curves_less([row for row in ROWS if row["n_train"] == 100], "M3N")
    assert (less.name, less.x.tolist(), less.n.tolist()) == ("CRF", [100], [1])
    assert less.mean == pytest.approx([0.1])


def test_curves_have_means_and_deviations_at_each_value():
    m3n, crf = s.curves([*ROWS, fit("L1-CRF", 0, None)])
    assert (m3n.name, crf.name) == ("M3N", "CRF")
    assert m3n.x.tolist() == [100, 200]
    np.testing.assert_allclose(m3n.mean, [0.3, 0.1])
    np.testing.assert_allclose(m3n.deviation, [np.std([0.2, 0.4], ddof=1), 0.0])
    assert m3n.n.tolist() == [2, 1]
    half = s.with_intervals(m3n)
    assert half.deviation == pytest.approx([s.mean_of([0.2, 0.4]).half, 0.0])
    by_fold = s.curve("any", ROWS, lambda row: -row["fold"], "n_train")
    assert by_fold.x.tolist() == [-2, -1, 0]
    assert s.curve("none", [], "n_train").x.shape == (0,)


def test_cells_hold_constants_and_numbers():
    text = s.constants_text([("C", 1.0), ("lam", 1e-4)])
    assert text == "C=1 lam=0.0001"
    assert s.read_constants(text) == (("C", 1.0), ("lam", 1e-4))
    assert s.read_constants(None) == ()
    row = {"parameters": text, "errors": s.numbers_text([[0.5], [math.nan]]), "one": 3}
    assert s.constant(row, "lam") == 1e-4
    assert s.constant(row, "beta") is s.constant({}, "C") is None
    assert row["errors"] == "0.5 nan"
    np.testing.assert_array_equal(s.matrix([row, {}, row], "errors"), [[0.5, math.nan]] * 2)
    assert s.numbers(row["one"]).tolist() == [3.0]
    assert [s.is_at_end(x, (1, 2, 3)) for x in (1, 2, 3, None)] == [True, False, True, False]


def test_tables_as_text_and_markdown_and_crossed():
    columns = [
        s.Column("model", "model"),
        s.Column("error", "error", ".2f", right=True),
        s.Column("share", lambda row: row["fold"] / 4, s.percent(".0f"), right=True),
    ]
    table = s.table(columns, ROWS[3:])
    assert table.text().splitlines() == [
        "  model  error  share",
        "  ─────  ─────  ─────",
        "  CRF     0.50   25 %",
        "  CRF        –    0 %",
        "  CRF     0.90   50 %",
    ]
    assert table.markdown().splitlines()[:3] == [
        "| model | error | share |", "| --- | --- | --- |", "| CRF | 0.50 | 25 % |",
    ]  # fmt: skip
    table = s.crossed(ROWS[1:4] + ROWS[:1], ["model"], "n_train", lambda r: f"{r['error']}", "{} w")
    assert table.head == ["model", "100 w", "200 w"]
    assert table.cells == [["M3N", "0.4", "0.1"], ["CRF", "0.5", "–"]]
    assert table.text().splitlines()[2] == "  M3N      0.4    0.1"


def test_values_with_their_spread_and_sentences():
    assert s.plus_minus(0.1234, 0.01) == "0.123 ± 0.010"
    assert s.plus_minus(0.1234, None, ".1f", times=100, unit=" %") == "12.3 %"
    assert s.plus_minus(0.1234, 0.01, ".1f", times=100, sign="+") == "+12.3 ± 1.0"
    assert s.plus_minus(None, 0.01) == "–"
    assert s.plus_minus(-0.0004, 0.01, ".1f", times=100, sign="+") == "+0.0 ± 1.0"
    assert listed(["a"]) == "a"
    assert listed(["a", "b", "c"]) == "a, b and c"
    assert over(1) == "1 fold"
    assert over(5, "sets") == "mean ± deviation over 5 sets"
    text = paragraphs("long " * 30, "", "short")
    assert text.count("\n\n") == 1
    assert max(map(len, text.splitlines())) <= 100
    assert bullets(["long " * 30]).splitlines()[1].startswith("  long")


def test_placeholders_and_values_of_a_text_match(tmp_path):
    file = tmp_path / "toy.md"
    file.write_text("# toy\n\n## caption\nErrors fall to {few:.0%}\nof words.\n", encoding="utf-8")
    texts = Texts(str(file))
    assert texts("caption", few=0.25) == "Errors fall to 25% of words."
    for values, odd in (({}, "few"), ({"few": 1, "many": 2}, "many"), ({"fw": 1}, "few, fw")):
        with pytest.raises(ValueError, match=rf"toy\.md, caption: .* differ in {odd}\.$"):
            texts("caption", **values)
    with pytest.raises(KeyError, match="has no text 'note'; it has caption"):
        texts("note")
