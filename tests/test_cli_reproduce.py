"""``medn-edu reproduce``, mostly with a toy study."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from children import child, is_running, wait_until
from test_studies_runner import CHOICE, CHOOSING, LATER, SPECS, TOY, fitting

from medn_edu import __version__
from medn_edu.cli import main
from medn_edu.explorers import new_figure, save_figure
from medn_edu.files import sole_user
from medn_edu.studies.kit import runner
from medn_edu.studies.kit.gallery import COMPARISONS, PUBLISHED, write_page
from medn_edu.studies.kit.specs import FitSpec, Report
from medn_edu.studies.kit.stored import stored_folder, stored_rows, stored_studies
from medn_edu.studies.kit.tables import read_csv
from medn_edu.studies.registry import STUDIES


def draw(rows, path):
    """A figure for which all fits are needed."""
    assert {"seconds", "cpu_seconds"} <= set(rows[0])
    figure = new_figure(2, 2)
    errors = {row["key"]: row["error"] for row in rows}
    figure.add_subplot().plot([errors[spec.key] for spec in SPECS])
    save_figure(figure, path)


def draw_much(rows, path):
    """A figure that is too large as SVG."""
    figure = new_figure(2, 2)
    figure.add_subplot().plot([[(j * 7919 + i) % 101 for i in range(20)] for j in range(1500)])
    save_figure(figure, path)


STUDY = replace(
    fitting(measured=("n_large", "twice"), measure=lambda spec, model: {"twice": 2 / 3}),
    summary="a toy",
    draw=draw,
    more_figures={"much": draw_much},
    remarks="it is a toy.",
    duration="quick 1 s, paper 2 s",
    place=5,
)


@pytest.fixture
def toy(monkeypatch):
    def register(study):
        monkeypatch.setitem(STUDIES, "toy", study)
        return study

    register(STUDY)
    return register


def draw_points(rows, path):
    figure = new_figure(2, 2)
    figure.add_subplot().plot([len(row) for row in rows])
    save_figure(figure, path)


@pytest.fixture(autouse=True)
def few_points(monkeypatch):
    """The studies of curves are quick; test_quick_studies.py makes the real ones."""
    for name in ("shrinkage", "kl-norm"):
        row = dict.fromkeys(STUDIES[name].columns, 1.0)
        few = replace(STUDIES[name], fit=lambda spec, row=row: [row] * 3, draw=draw_points)
        monkeypatch.setitem(STUDIES, name, few)


def reproduce(*words) -> int:
    return main(["reproduce", *map(str, words)])


def sentence(capsys) -> str:
    error = capsys.readouterr().err
    assert error.startswith("medn-edu: ")
    assert error.count("\n") == 1
    return error


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def rows_of(folder: Path, name: str = "results") -> list[dict]:
    return read_csv((folder / f"{name}.csv").read_text(encoding="utf-8"))


def test_studies_are_listed_with_the_time_they_take(capsys):
    assert reproduce("--list") == 0
    _, _, *listed = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in listed] == list(STUDIES)
    assert set(COMPARISONS) <= set(STUDIES)
    for line in listed:
        assert len(line) <= 100
        assert line.endswith((" s", " min")), line
    times = r"quick [\d.]+ (s|min), paper [\d.]+ (s|min)"
    assert all(re.fullmatch(times, study.duration) for study in STUDIES.values() if study.scaled)
    with pytest.raises(SystemExit):
        reproduce("--help")
    text = capsys.readouterr().out
    for line in listed:
        assert line in text, "the help's durations are the studies' own"
    assert reproduce() == 2
    assert "medn-edu reproduce STUDY" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("kl-norm orc", "no study named 'orc'; there are shrinkage, kl-norm, "),
        ("toy --only L2 --only L1", "no fit has 'L2' or 'L1' in its key; an example of a key is t"),
        ("kl-norm --only L2", "an example of a key is kl-norm/fold=0/a/seed=0"),
        ("toy --backend dask", "--backend dask and --scheduler ADDRESS belong together"),
        ("toy --scheduler tcp://127.0.0.1:1", "--scheduler ADDRESS belong together"),
        ("toy --only fold=1 --publish figures", "only whole studies are published; leave --only"),
        ("toy --publish file", "choose another with --publish."),
        ("toy --out file", "the results folder file cannot be written (file exists); choose"),
    ],
)
def test_mistakes_are_told_before_anything_is_made(toy, tmp_path, capsys, monkeypatch, words, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    assert reproduce(*words.split()) == 2
    assert said in sentence(capsys)
    assert contents(tmp_path) == {"file": b""}


def test_several_studies_one_after_the_other(tmp_path, capsys):
    assert reproduce("shrinkage", "kl-norm", "shrinkage", "--out", tmp_path) == 0
    for name in ("shrinkage", "kl-norm"):
        assert contents(tmp_path / name).keys() == {
            "caption.md", "results.csv", "timings.csv", "figure.png", "figure.svg", "runs.csv",
        }  # fmt: skip
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines] == ["shrinkage", "kl-norm"]


def test_a_run_makes_tables_figures_and_a_caption(toy, tmp_path, capsys):
    start = time.monotonic()
    for jobs in (1, 2):
        assert reproduce("toy", "--out", tmp_path / str(jobs), "--jobs", jobs) == 0
    both = time.monotonic() - start
    assert "toy: " not in capsys.readouterr().out
    first, second = (tmp_path / jobs / "toy-quick" for jobs in "12")
    for name in ("results.csv", "figure.png", "much.png"):
        assert (first / name).read_bytes() == (second / name).read_bytes()
    assert contents(first).keys() == {
        "results.csv", "timings.csv", "runs.csv", "caption.md", "figure.png", "much.png",
    }  # fmt: skip
    caption = " ".join((second / "caption.md").read_text(encoding="utf-8").split())
    assert caption.startswith(
        f"A toy. It is a toy. Made by `medn-edu reproduce toy --scale quick`, medn_edu {__version__}, "
    )
    assert re.search(r": seed 0, 8 fits in \S+ s with 2 jobs, \S+ s of processor time\.$", caption)
    times = (first / "timings.csv").read_bytes()
    assert reproduce("toy", "--out", tmp_path / "1", "--jobs", 1, "--resume") == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "8 of 8 fits are done already; use --force to start again." in said
    assert "Note: it is a toy." in said
    assert (first / "timings.csv").read_bytes() == times, "nothing was done again"
    runs = rows_of(first, "runs")
    assert [(run["fits"], run["jobs"], run["backend"]) for run in runs] == [
        (8, 1, "loky"), (0, 1, "loky"),
    ]  # fmt: skip
    assert 0 <= runs[0]["seconds"] < both + 0.1, "to a tenth of a second"
    assert reproduce("toy", "--out", tmp_path / "1", "--jobs", 1, "--force") == 0
    [run] = rows_of(first, "runs")
    assert run["fits"] == 8
    with pytest.raises(SystemExit):
        reproduce("toy", "--resume", "--force")
    assert "not allowed with" in capsys.readouterr().err


def test_some_of_the_fits(toy, tmp_path, capsys):
    words, folder = ["toy", "--out", tmp_path, "--jobs", 1], tmp_path / "toy-quick"

    def keys():
        return [row["key"] for row in rows_of(folder)]

    assert reproduce(*words, "--only", "fold=1/M3N") == 0
    assert keys() == sorted(s.key for s in SPECS if s.fold == 1 and s.model == "M3N")
    said = " ".join(capsys.readouterr().out.split())
    assert "2 of 8 fits are there; figures and tables show these." in said
    assert "Not made: figure.png; more fits are needed." in said
    assert (folder / "much.png").exists(), "one figure does not wait for another"
    assert not (folder / "figure.png").exists()
    assert reproduce(*words, "--only", "fold=0", "--only", "1/p") == 0
    assert keys() == sorted(s.key for s in SPECS)
    assert "Not made" not in capsys.readouterr().out
    assert (folder / "figure.png").exists(), "drawn from all rows that are there"


def test_a_figure_for_which_there_is_nothing_to_draw(toy, tmp_path, capsys):
    """As SVG, too; and that of earlier rows does not stay."""
    toy(replace(STUDY, draw=draw_much, more_figures={"weights": lambda rows, path: None}))
    folder = tmp_path / "toy-paper"
    folder.mkdir()
    for suffix in ("png", "svg"):
        (folder / f"weights.{suffix}").write_text("old", encoding="utf-8")
    assert reproduce("toy", "--out", tmp_path, "--jobs", 1, "--scale", "paper") == 0
    output = capsys.readouterr()
    assert "Not made: weights.png; these fits have nothing for it." in output.out
    assert "medn-edu:" not in output.err
    assert {path.name for path in folder.glob("*.[ps][nv]g")} == {"figure.png"}


def test_a_fit_brings_the_one_that_chooses_its_constants_and_is_forgotten_alone(toy, tmp_path):
    """Others, and the log of runs, are kept."""
    toy(replace(CHOOSING, fits=lambda scale, seed: [*SPECS, CHOICE, *LATER]))
    words, folder = ["toy", "--out", tmp_path, "--jobs", 1], tmp_path / "toy-quick"
    later = LATER[1].key
    assert reproduce(*words, "--only", later) == 0
    assert {row["key"] for row in rows_of(folder)} == {CHOICE.key, later}
    assert reproduce(*words) == 0
    before = (folder / "results.csv").read_bytes()
    assert reproduce(*words, "--force", "--only", later) == 0
    assert reproduce(*words, "--force", "--only", "fold=0/M3N/C") == 0
    assert (folder / "results.csv").read_bytes() == before
    made = [run["fits"] for run in rows_of(folder, "runs")]
    assert made == [2, len(SPECS) + 1, 1, 2], "what chose is kept, too"


def test_a_scheduler_that_does_not_answer(distributed, toy, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(runner, "PATIENCE", 0.3)
    words = ["--backend", "dask", "--scheduler", "tcp://127.0.0.1:1"]
    assert reproduce("toy", "--out", tmp_path, *words) == 2
    assert "no Dask scheduler answers at 'tcp://127.0.0.1:1'" in sentence(capsys)


def test_each_seed_has_its_folder(toy, tmp_path):
    toy(replace(TOY, fits=lambda scale, seed: [replace(spec, seed=seed) for spec in SPECS[:1]]))
    words = ["toy", "--out", tmp_path, "--jobs", 1]
    assert reproduce(*words) == 0
    before = contents(tmp_path / "toy-quick")
    assert reproduce(*words, "--seed", 1, "--force") == 0
    assert contents(tmp_path / "toy-quick") == before
    other = tmp_path / "toy-quick-seed1"
    assert [row["seed"] for row in rows_of(other)] == [1]
    caption = " ".join((other / "caption.md").read_text(encoding="utf-8").split())
    assert "`medn-edu reproduce toy --scale quick --seed 1`" in caption


def test_failed_fits_are_reported(toy, tmp_path, capsys):
    bad = FitSpec("toy", 0, "M3N", (("C", -1.0), ("lam", -1.0)))
    toy(replace(STUDY, fits=lambda scale, seed: [*SPECS, bad]))
    words = ["toy", "--out", tmp_path, "--jobs", 1]
    assert reproduce(*words) == 1
    output = capsys.readouterr()
    assert f"{bad.key} failed: TypeError" in output.err
    assert "1 of 9 fits failed; give the same command to try again." in output.out
    assert (tmp_path / "toy-quick" / "figure.png").exists()
    assert reproduce(*words, "--publish", tmp_path / "figures") == 2
    assert "toy can't be published yet: 1 of 9 fits are missing." in capsys.readouterr().err
    assert not list((tmp_path / "figures").iterdir())


def test_publishing(toy, tmp_path, capsys):
    """Figures, tables, captions and a page; what is published can be read, with times."""
    figures = tmp_path / "figures"
    words = ["toy", "kl-norm", "--out", tmp_path, "--jobs", 1, "--publish", figures]
    assert reproduce(*words, "--scale", "paper") == 0
    assert f"toy is published in {figures}" in capsys.readouterr().out
    names = {
        "README.md", "runs.csv", "toy.csv", "toy-times.csv", "toy.md", "toy.png", "toy.svg",
        "toy-much.png", "kl-norm.csv", "kl-norm.md", "kl-norm.png", "kl-norm.svg",
    }  # fmt: skip
    assert contents(figures).keys() == names
    rows = stored_rows("toy", figures)
    assert len(rows) == len(SPECS)
    for row, full in zip(rows, rows_of(tmp_path / "toy-paper"), strict=True):
        assert list(row) == [*PUBLISHED, "twice", "seconds", "cpu_seconds"]
        assert row["twice"] == 0.666667
        assert row["seconds"] is not None
        for name in ("data", "fold", "model", "parameters", "error", "n_nonzero"):
            assert row[name] == full[name]
    page = (figures / "README.md").read_text(encoding="utf-8")
    [run] = rows_of(figures, "runs")
    assert f"| toy | paper | {run['date']} | {__version__} | 8 | 1 |" in page
    before = contents(figures)
    assert reproduce(*words, "--scale", "paper") == 0
    assert contents(figures) == before

    def report(rows, scale):
        table = [{"model": "M3N", "n": len(rows)}]
        caption = f"Caption at {scale} scale.\n"
        return Report(("model", "n"), table, "in short", caption, {"much": "Zigzags."})

    toy(replace(STUDY, report=report, draw=draw_much))
    assert reproduce(*words, "--scale", "paper") == 0
    assert stored_rows("toy-summary", figures) == [{"model": "M3N", "n": 8}]
    assert not (figures / "toy.svg").exists(), "what belongs to an earlier figure goes"
    assert set(stored_studies()).isdisjoint({"runs", "toy-times"})
    page = (figures / "README.md").read_text(encoding="utf-8")
    assert "![A toy](toy.png)\n\nCaption at paper scale.\n" in page
    assert "![A toy: much](toy-much.png)\n\nZigzags.\n" in page


def test_what_is_published_at_paper_scale_stays_so(toy, tmp_path, capsys, monkeypatch):
    """Claims and notebooks go by it."""
    figures, out = tmp_path / "figures", tmp_path / "out"
    words = ["shrinkage", "toy", "--out", out, "--jobs", 1, "--publish", figures]
    assert reproduce(*words) == 0, "into an empty folder"
    assert reproduce(*words) == 0, "again"
    assert reproduce(*words, "--scale", "paper", "--seed", 3) == 0, "instead of a quick one"
    assert reproduce(*words, "--scale", "paper", "--seed", 3) == 0, "the same once more"
    assert reproduce(*words, "--scale", "paper") == 0
    capsys.readouterr()
    before = contents(figures)
    with monkeypatch.context() as patch:
        patch.setattr(runner, "run_study", None)  # nothing is made
        for more in (["--seed", 3], [], ["--scale", "paper", "--seed", 3]):
            assert reproduce(*words, *more) == 2
            scale, seed = ("paper" if "paper" in more else "quick"), (3 if 3 in more else 0)
            assert sentence(capsys) == (
                f"medn-edu: {figures} holds toy at paper scale with seed 0, which this run ({scale}, "
                f"seed {seed}) must not replace; choose another folder with --publish.\n"
            )
        assert contents(figures) == before
        (figures / "runs.csv").unlink()
        assert reproduce(*words) == 2, "without a log it counts as of paper scale"
    assert reproduce("shrinkage", "--out", out, "--publish", figures) == 0, "curves have no scale"


def test_the_committed_page_is_that_of_the_files_beside_it(tmp_path):
    """Else `medn-edu reproduce kl-norm --publish figures` renews it."""
    committed = stored_folder()
    copy = shutil.copytree(committed, tmp_path / "figures")
    page = write_page(copy, STUDIES.values()).read_text(encoding="utf-8")
    assert page == (committed / "README.md").read_text(encoding="utf-8")
    for caption in committed.glob("*.md"):
        text = caption.read_text(encoding="utf-8")
        assert caption.name == "README.md" or f"]({caption.name})" in page or text in page


@pytest.mark.skipif(os.name == "nt", reason="Windows cannot lock folders")
def test_two_runs_do_not_share_a_folder(toy, tmp_path, capsys):
    """Each would write tables without the other's fits."""
    folder = tmp_path / "toy-quick"
    folder.mkdir()
    with sole_user(folder):
        assert reproduce("toy", "--out", tmp_path, "--jobs", 1) == 2
    assert f"another run is using {folder}; wait for it" in sentence(capsys)
    assert not list(folder.iterdir())
    with sole_user(folder):
        pass


LONG = replace(
    TOY, fits=lambda scale, seed: [replace(spec, seed=n) for spec in SPECS for n in range(15)]
)
SLOW_RUN = """
import os, sys, time
from pathlib import Path
jobs, folder, tests = sys.argv[1:]
sys.path.insert(0, tests)
from test_cli_reproduce import LONG, STUDIES, fitting, main
from test_studies_runner import toy_split

def split(spec):
    Path(folder, f"pid-{os.getpid()}").touch()
    time.sleep(0.2)
    return toy_split(spec)

STUDIES["toy"] = fitting(LONG, split=split)
sys.exit(main(["reproduce", "toy", "--jobs", jobs, "--out", folder]))
"""


@pytest.mark.skipif(os.name == "nt", reason="Windows has no kill -9, and Ctrl-C is for consoles")
@pytest.mark.parametrize(
    ("jobs", "number", "send"),
    [
        (1, "SIGINT", "kill"),
        (2, "SIGINT", "killpg"),
        (1, "SIGKILL", "kill"),
        (2, "SIGKILL", "kill"),
    ],
)
def test_a_stopped_run_resumes_to_identical_tables(toy, tmp_path, jobs, number, send):
    """A shell sends Ctrl-C to the workers, too; nobody tells them that the process was killed."""
    out, killed = tmp_path / "toy-quick", number == "SIGKILL"
    first = out / ("journal.csv" if killed else "results.csv")
    with child(
        [sys.executable, "-c", SLOW_RUN, str(jobs), str(tmp_path), str(Path(__file__).parent)],
        stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        wait_until(lambda: first.exists() or process.poll() is not None, 120)
        assert process.poll() is None, process.communicate()
        getattr(os, send)(process.pid, getattr(signal, number))
        _, error = process.communicate(timeout=60)
        workers = [path.name.removeprefix("pid-") for path in tmp_path.glob("pid-*")]
        assert len(workers) in ([1] if jobs == 1 else [2, 3]), "one may not have begun"
        wait_until(lambda: not any(map(is_running, workers)), 10)
    n_done = len(rows_of(out))
    assert 0 < n_done < 120, "stopped in the middle"
    if not killed:
        assert process.returncode == 130
        assert contents(out).keys() == {"results.csv", "timings.csv", "runs.csv"}
        assert rows_of(out, "runs")[0]["fits"] == n_done
        verb = "is" if n_done == 1 else "are"
        assert error.strip() == (
            f"Stopped. {n_done} of 120 fits {verb} kept; give the same command to continue."
        )
    toy(LONG)
    for folder in (tmp_path, tmp_path / "whole"):
        assert reproduce("toy", "--out", folder, "--jobs", 1) == 0
    whole = tmp_path / "whole" / "toy-quick" / "results.csv"
    assert (out / "results.csv").read_bytes() == whole.read_bytes()
