"""The tables that are published next to the figures, read again."""

import shutil

import pytest

from medn_edu.studies.kit import stored
from medn_edu.studies.kit.stored import stored_folder, stored_rows, stored_studies


def test_rows_of_every_table_here():
    for name in stored_studies():
        assert stored_rows(name), name


def test_a_study_that_is_not_stored():
    with pytest.raises(FileNotFoundError, match="no table of 'orc' is stored; `medn-edu reproduce"):
        stored_rows("orc")


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


def test_a_damaged_table(tmp_path):
    (tmp_path / "toy.csv").write_text("a,b\n1\n")
    with pytest.raises(ValueError, match=r"toy\.csv is damaged: line 2"):
        stored_rows("toy", tmp_path)


def test_a_wheel_has_them_beside_the_package(tmp_path, monkeypatch):
    shutil.copy(stored_folder() / "kl-norm.csv", tmp_path)
    monkeypatch.setattr(stored, "FOLDERS", (tmp_path, *stored.FOLDERS))
    assert stored_studies() == ["kl-norm"]
    assert stored_rows("kl-norm")
    monkeypatch.setattr(stored, "FOLDERS", (tmp_path / "nowhere",))
    with pytest.raises(FileNotFoundError, match="missing from this installation"):
        stored_rows("kl-norm")
