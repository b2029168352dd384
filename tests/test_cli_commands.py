"""Every command from end to end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from medn_edu.cli import lab, main
from medn_edu.experiments.models import MODELS
from medn_edu.experiments.tables import read_csv

MAX_MARGIN = ("M3N", "LapMEDN variational", "LapMEDN")  # those with labellings that carry mass


@pytest.fixture
def without_ocr(monkeypatch, tmp_path):
    """No OCR letters anywhere."""
    monkeypatch.delenv("MEDN_EDU_DATA", raising=False)
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA", "HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home"))


def test_demo(tmp_path, capsys):
    assert main(["demo", "--out", str(tmp_path / "out"), "--seed", "0"]) == 0
    text = capsys.readouterr().out
    rows = {row["model"]: row for row in read_csv((tmp_path / "out" / "demo.csv").read_text())}
    assert list(rows) == list(MODELS)
    for name, row in rows.items():
        assert f"{100 * row['error']:.1f} %" in text
        assert name in text
        assert 0 < row["n_large"] <= row["n_nonzero"] <= row["n_weights"]
        if name not in ("per letter", "CRF"):
            assert row["error"] < rows["per letter"]["error"] - 0.03, "neighbours help"
        if name not in ("per letter", "CRF", "LapMEDN variational"):
            assert row["relative_gap"] <= 0.01
        assert (row["n_support"] is None) == (name not in MAX_MARGIN)
    assert rows["L1-CRF"]["n_nonzero"] < 0.5 * rows["L2-CRF"]["n_nonzero"]
    assert rows["LapMEDN"]["n_large"] < rows["M3N"]["n_large"]
    assert rows["CRF"]["relative_gap"] is None, "no certificate is claimed where there is none"
    assert (tmp_path / "out" / "demo.png").stat().st_size > 50_000
    assert "medn-edu lab" in text
    assert rows["CRF"]["train_error"] == 0
    assert "over-fitting, not a failure" in " ".join(text.split())
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"demo.csv", "demo.png"}


def test_demo_does_not_depend_on_the_number_of_threads(tmp_path):
    for jobs in ("1", "2"):
        assert main(["demo", "--out", str(tmp_path / jobs), "--jobs", jobs]) == 0
    one, two = (read_csv((tmp_path / jobs / "demo.csv").read_text()) for jobs in ("1", "2"))
    for row in [*one, *two]:
        row.pop("seconds")
    assert one == two
    assert (tmp_path / "1" / "demo.png").read_bytes() == (tmp_path / "2" / "demo.png").read_bytes()


def test_studies_are_listed(capsys):
    assert main(["reproduce", "--list"]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in listed] == [
        "shrinkage",
        "kl-norm",
        "ocr",
        "ocr-full",
        "l1m3n-algorithms",
        "solvers",
    ]
    assert all(len(line) < 100 for line in listed)
    assert all(line.endswith((" s)", " min)", "scale)")) for line in listed), "how long each takes"


def test_a_study_must_be_named(capsys):
    assert main(["reproduce"]) == 2
    assert "medn-edu reproduce STUDY" in capsys.readouterr().err


def test_an_unknown_study(tmp_path, capsys):
    assert main(["reproduce", "orc", "--out", str(tmp_path)]) == 2
    known = "there are shrinkage, kl-norm, ocr, ocr-full, l1m3n-algorithms, solvers."
    assert f"no study named 'orc'; {known}" in capsys.readouterr().err
    assert main(["reproduce", "kl-norm", "orc", "--out", str(tmp_path)]) == 2
    assert not list(tmp_path.iterdir()), "all names are read before anything is done"


def test_several_studies_one_after_the_other(tmp_path, capsys):
    assert (
        main(["reproduce", "shrinkage", "kl-norm", "--scale", "paper", "--out", str(tmp_path)]) == 0
    )
    for name in ("shrinkage", "kl-norm"):
        made = {path.name for path in (tmp_path / name).iterdir()}
        assert made == {"caption.md", "curves.csv", "figure.png"}
    assert [line.split(":")[0] for line in capsys.readouterr().out.splitlines()] == [
        "shrinkage", "kl-norm",
    ]  # fmt: skip


def test_a_study_without_its_data(without_ocr, tmp_path, capsys, monkeypatch):
    from medn_edu.experiments import splits

    splits.ocr_letters.cache_clear()
    assert main(["reproduce", "ocr", "--out", str(tmp_path / "out")]) == 2
    error = capsys.readouterr().err
    assert "medn-edu data fetch" in error
    assert error.count("\n") == 1
    assert not (tmp_path / "out").exists()


def small_study():
    """The OCR study, a few of its fits."""
    from medn_edu.experiments.studies import STUDIES

    specs = STUDIES["ocr"].specs("quick", 0)
    return [s for s in specs if s.data == "ocr-100" and s.model in ("L2-CRF", "M3N")]


def test_reproduce_resumes_and_is_the_same_for_any_number_of_jobs(
    ocr, tmp_path, capsys, monkeypatch
):
    from dataclasses import replace

    from medn_edu.experiments.studies import STUDIES

    specs = small_study()
    small = replace(STUDIES["ocr-full"], specs=lambda scale, seed: specs)
    monkeypatch.setitem(STUDIES, "ocr-full", small)
    for jobs in ("1", "2"):
        assert main(["reproduce", "ocr-full", "--out", str(tmp_path / jobs), "--jobs", jobs]) == 0
    first, second = (tmp_path / jobs / "ocr-full-quick" for jobs in ("1", "2"))
    assert (first / "results.csv").read_bytes() == (second / "results.csv").read_bytes()
    assert (first / "figure.png").read_bytes() == (second / "figure.png").read_bytes()
    text = capsys.readouterr().out
    assert "55 different words" in " ".join(text.split())
    assert "M3N" in text
    times = (first / "timings.csv").read_bytes()
    assert main(["reproduce", "ocr-full", "--out", str(tmp_path / "1")]) == 0
    assert "6 of 6 fits are done already" in capsys.readouterr().out
    assert (first / "timings.csv").read_bytes() == times, "nothing was done again"


def test_each_seed_has_its_folder(ocr, tmp_path, monkeypatch):
    from dataclasses import replace

    from medn_edu.experiments.studies import STUDIES

    [spec, *_] = small_study()
    study = replace(STUDIES["ocr-full"], specs=lambda scale, seed: [replace(spec, seed=seed)])
    monkeypatch.setitem(STUDIES, "ocr-full", study)
    assert main(["reproduce", "ocr-full", "--out", str(tmp_path)]) == 0
    first = tmp_path / "ocr-full-quick"
    before = {path.name: path.read_bytes() for path in first.iterdir()}
    assert main(["reproduce", "ocr-full", "--out", str(tmp_path), "--seed", "1", "--force"]) == 0
    assert {path.name: path.read_bytes() for path in first.iterdir()} == before
    [row] = read_csv((tmp_path / "ocr-full-quick-seed1" / "results.csv").read_text())
    assert row["seed"] == 1


def test_reproduce_reports_failed_fits(ocr, tmp_path, capsys, monkeypatch):
    from dataclasses import replace

    from medn_edu.experiments.studies import STUDIES

    good = small_study()[0]
    bad = replace(good, parameters=(("C", -1.0), ("lam", -1.0)))
    study = replace(STUDIES["ocr-full"], specs=lambda scale, seed: [good, bad])
    monkeypatch.setitem(STUDIES, "ocr-full", study)
    assert main(["reproduce", "ocr-full", "--out", str(tmp_path)]) == 1
    output = capsys.readouterr()
    assert f"{bad.key} failed: TypeError" in output.err
    assert "1 of 2 fits failed" in output.out


SMALL_STUDY = """
import signal
import sys
from dataclasses import replace
from medn_edu.cli import main
from medn_edu.experiments.studies import STUDIES

# Tests in the background of a shell inherit that Ctrl-C is to be ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
study = STUDIES["ocr"]
models = "CRF", "L2-CRF", "M3N"
specs = [s for s in study.specs("paper", 0) if s.data != "ocr-rest" and s.model in models]
STUDIES["ocr"] = replace(study, specs=lambda scale, seed: specs)
sys.exit(main(["reproduce", "ocr", "--jobs", sys.argv[1], "--out", sys.argv[2]]))
"""


@pytest.mark.skipif(os.name == "nt", reason="Windows sends Ctrl-C to whole consoles")
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_ctrl_c_in_the_middle_of_a_study(require_ocr, tmp_path, jobs):
    table = tmp_path / "ocr-quick" / "results.csv"
    with subprocess.Popen(
        [sys.executable, "-c", SMALL_STUDY, jobs, str(tmp_path)],
        stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        wait_for(table, process)
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=60)
    assert process.returncode == 130
    assert {path.name for path in table.parent.iterdir()} == {"results.csv", "timings.csv"}
    n_done = len(read_csv(table.read_text(encoding="utf-8")))
    assert 0 < n_done < 120, "stopped in the middle"
    verb = "is" if n_done == 1 else "are"
    assert error.strip() == (
        f"Stopped. {n_done} of 120 fits {verb} kept; the same command goes on from there."
    )


def wait_for(path: Path, process: subprocess.Popen, seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while not path.exists():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline, f"{path} did not appear"
        time.sleep(0.02)


def test_data_status(ocr, capsys):
    assert main(["data", "status"]) == 0
    text = capsys.readouterr().out
    assert "digits  here" in text
    assert "letter.data.gz" in text


def test_data_status_without_the_letters(without_ocr, capsys):
    assert main(["data", "status"]) == 1
    text = capsys.readouterr().out
    assert "ocr     not here: " in text
    assert "medn-edu data fetch" in text


def test_data_status_of_damaged_letters(without_ocr, capsys, monkeypatch, tmp_path):
    file = tmp_path / "ocr" / "letter.data.gz"
    file.parent.mkdir()
    file.write_bytes(b"something else")
    monkeypatch.setenv("MEDN_EDU_DATA", str(tmp_path))
    assert main(["data", "status"]) == 1
    text = capsys.readouterr().out
    assert f"ocr     unusable: {file} is not an intact gzip file" in text
    assert "not here" not in text


def test_fetching_what_is_here(ocr, capsys):
    assert main(["data", "fetch"]) == 0
    assert "here and checked" in capsys.readouterr().out


def test_fetching_without_a_network(without_ocr, capsys, monkeypatch, tmp_path):
    import pooch

    def refuse(self, *args, **kwargs):
        raise OSError("no route to host")

    monkeypatch.setattr(pooch.HTTPDownloader, "__call__", refuse)
    assert main(["data", "fetch"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("medn-edu: the OCR letters could not be downloaded")
    assert error.count("\n") == 1
    assert not list((tmp_path / "home").rglob("*.gz"))


def test_doctor_finds_what_is_missing(without_ocr, capsys):
    assert main(["doctor"]) == 1
    lines = capsys.readouterr().out.splitlines()
    [letters] = [line for line in lines if "OCR letters" in line and line.startswith(" ✗")]
    assert "medn-edu data fetch" in letters
    for name in ("numpy", "numba", "kernels", "jupyterlab", "Chromium", "threads"):
        assert any(name in line for line in lines)


def test_warmup(capsys):
    assert main(["warmup"]) == 0
    assert "kept in" in capsys.readouterr().out


def test_lab_copies_the_course_and_starts_the_server(tmp_path, capsys, monkeypatch):
    started = []

    class Server:
        def __init__(self, command):
            started.append(command)

        def __enter__(self):
            return self

        def __exit__(self, *exc_info):
            return None

        def wait(self):
            return 0

    monkeypatch.setattr(lab.subprocess, "Popen", Server)
    folder = tmp_path / "my course"
    assert main(["lab", str(folder), "--no-browser", "--port", "8899"]) == 0
    [command] = started
    assert command[:4] == [sys.executable, "-m", "jupyter", "lab"]
    assert "--ServerApp.ip=127.0.0.1" in command
    assert f"--ServerApp.root_dir={folder}" in command
    assert not any("token" in part or "password" in part for part in command), "the token stays"
    assert (folder / "00-start-here.ipynb").exists()
    notebook = folder / "00-start-here.ipynb"
    notebook.write_text("mine", encoding="utf-8")
    assert main(["lab", str(folder)]) == 0
    assert notebook.read_text(encoding="utf-8") == "mine", "edits stay"
    assert str(folder) in capsys.readouterr().out


def test_lab_without_jupyterlab(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(lab.importlib.util, "find_spec", lambda name: None)
    assert main(["lab", str(tmp_path / "course")]) == 2
    assert "pip install 'medn_edu[lab]'" in capsys.readouterr().err


def test_lab_where_nothing_can_be_written(tmp_path, capsys):
    file = tmp_path / "file"
    file.write_text("", encoding="utf-8")
    for folder in (file, file / "course"):
        assert main(["lab", str(folder)]) == 2
        assert capsys.readouterr().err == (
            f"medn-edu: the course cannot be copied to {folder} (a file is in the way); "
            "name a folder that you may write to.\n"
        )
