"""What studies have in common: keys of fits, counts of weights, tables and what is stored of them."""

import shutil
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from medn_edu.explorers import series_style
from medn_edu.studies.kit import stored
from medn_edu.studies.kit.models import MODELS, make_model, sparsity
from medn_edu.studies.kit.selection import TRIED
from medn_edu.studies.kit.stored import stored_folder, stored_rows, stored_studies
from medn_edu.studies.kit.tables import csv_text, read_csv
from medn_edu.studies.registry import STUDIES

VALUES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()


def test_studies_and_fits_have_places_and_keys_of_their_own():
    """Those of formulas come first, then those that train models."""
    trains = [study.trains for study in STUDIES.values()]
    assert trains[:16] == [False] * 4 + [True] * 9 + [False] * 3
    places = [study.place for study in STUDIES.values()]
    assert places == sorted(set(places))
    for study in STUDIES.values():
        assert study.summary
        for scale in ("quick", "paper"):
            seeds = (0, 1) if study.scaled else (0,)
            specs = [spec for seed in seeds for spec in study.fits(scale, seed)]
            assert len({spec.key for spec in specs}) == len(specs) > 0


def test_quick_is_a_part_of_paper():
    """But for the choice of constants, in which fewer parts of the data have their turn."""

    def with_all_parts(spec):
        parameters = () if spec.parameters == TRIED["quick"] else spec.parameters
        return replace(spec, parameters=parameters, after=spec.after.replace("/n_tried=1", ""))

    for study in (study for study in STUDIES.values() if study.trains):
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
