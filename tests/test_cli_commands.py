"""Every command from end to end."""

import sys

import pooch
import pytest

from medn_edu.cli import lab, main
from medn_edu.studies.kit import splits
from medn_edu.studies.kit.models import MODELS
from medn_edu.studies.kit.tables import read_csv


@pytest.fixture
def without_ocr(monkeypatch, tmp_path):
    """No OCR letters anywhere."""
    monkeypatch.delenv("MEDN_EDU_DATA", raising=False)
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA", "HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home"))


def test_demo_which_does_not_depend_on_the_number_of_threads(tmp_path, capsys):
    folders = tmp_path / "one" / "thread", tmp_path / "two"
    assert main(["demo", "--out", str(folders[0]), "--seed", "0", "--jobs", "1"]) == 0
    text = capsys.readouterr().out
    assert "medn-edu lab" in text
    assert {path.name for path in folders[0].iterdir()} == {"demo.csv", "demo.png"}
    assert main(["demo", "--out", str(folders[1]), "--jobs", "2"]) == 0
    first, second = ((folder / "demo.png").read_bytes() for folder in folders)
    assert first == second
    assert len(first) > 50_000
    one, two = (read_csv((folder / "demo.csv").read_text()) for folder in folders)
    for row in [*one, *two]:
        row.pop("seconds")
    assert one == two
    rows = {row["model"]: row for row in one}
    assert list(rows) == list(MODELS)
    for name, row in rows.items():
        assert f"{100 * row['error']:.1f} %" in text
        assert name in text
        assert 0 < row["n_large"] <= row["n_nonzero"] <= row["n_weights"]
        if name not in ("per letter", "CRF"):
            assert row["error"] < rows["per letter"]["error"] - 0.03, "neighbours help"
        if name not in ("per letter", "CRF", "LapMEDN variational"):
            assert row["relative_gap"] <= (0.02 if name == "L1-M3N" else 0.01)
        keeps_labellings = name in ("M3N", "L1-M3N", "LapMEDN variational", "LapMEDN")
        assert (row["n_support"] is not None) == keeps_labellings
    assert rows["L1-CRF"]["n_nonzero"] < 0.5 * rows["L2-CRF"]["n_nonzero"]
    assert rows["LapMEDN"]["n_large"] < rows["M3N"]["n_large"]
    assert rows["CRF"]["relative_gap"] is None, "no certificate is claimed where there is none"
    assert rows["CRF"]["train_error"] == 0
    assert rows["CRF"]["error"] < rows["per letter"]["error"], "plain steps keep weights small"


def test_who_misses_the_letters_is_told_how_to_get_them(without_ocr, tmp_path, capsys, monkeypatch):
    splits.ocr_letters.cache_clear()
    assert main(["reproduce", "ocr", "--out", str(tmp_path / "out")]) == 2
    error = capsys.readouterr().err
    assert "medn-edu data fetch" in error
    assert error.count("\n") == 1
    assert not (tmp_path / "out").exists()
    assert main(["data", "status"]) == 1
    text = capsys.readouterr().out
    assert "ocr     not here: " in text
    assert "medn-edu data fetch" in text
    assert main(["doctor"]) == 1
    lines = capsys.readouterr().out.splitlines()
    [letters] = [line for line in lines if "OCR letters" in line and line.startswith(" ✗")]
    assert "medn-edu data fetch" in letters
    for name in ("numpy", "numba", "kernels", "jupyterlab", "Chromium", "threads"):
        assert any(name in line for line in lines)

    def refuse(self, *args, **kwargs):
        raise OSError("no route to host")

    monkeypatch.setattr(pooch.HTTPDownloader, "__call__", refuse)
    assert main(["data", "fetch"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("medn-edu: the OCR letters could not be downloaded")
    assert error.count("\n") == 1
    assert not list((tmp_path / "home").rglob("*.gz"))


def test_letters_that_are_here(ocr, capsys):
    assert main(["data", "status"]) == 0
    text = capsys.readouterr().out
    assert "digits  here" in text
    assert "letter.data.gz" in text
    assert any(line.startswith("wnut17  ") for line in text.splitlines())
    assert main(["data", "fetch"]) == 0
    assert "The OCR letters are here and checked" in capsys.readouterr().out


def test_letters_that_are_damaged(capsys, monkeypatch, tmp_path):
    file = tmp_path / "ocr" / "letter.data.gz"
    file.parent.mkdir()
    file.write_bytes(b"something else")
    monkeypatch.setenv("MEDN_EDU_DATA", str(tmp_path))
    assert main(["data", "status"]) == 1
    _, letters, *_ = capsys.readouterr().out.splitlines()
    assert letters.startswith(f"ocr     unusable: {file} is not an intact gzip file")
    assert "not here" not in letters


def test_lab_copies_the_course_and_starts_the_server(tmp_path, capsys, monkeypatch):
    started = []
    monkeypatch.setattr(lab, "serve", lambda *command, **folders: started.extend(command) or 0)
    folder = tmp_path / "my course"
    assert main(["lab", str(folder), "--no-browser", "--port", "8899"]) == 0
    [command] = started
    assert command[:4] == [sys.executable, "-m", "jupyter", "lab"]
    assert "--ServerApp.ip=127.0.0.1" in command
    assert f"--ServerApp.root_dir={folder}" in command
    assert not any("token" in part or "password" in part for part in command), "the token stays"
    assert "--ServerApp.port=8899" in command
    assert command[-1] == "--no-browser"
    assert (folder / "00-start-here.ipynb").exists()
    monkeypatch.setattr(lab.importlib.util, "find_spec", lambda name: None)
    assert main(["lab", str(tmp_path / "other")]) == 2
    assert "pip install 'medn_edu[lab]'" in capsys.readouterr().err
