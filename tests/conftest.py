"""What all tests share: the OCR letters, which the repository may not contain, and who runs what.

With ``pytest -n 2`` two processes share the tests.  The tests of a file stay together, because they
share what is expensive to make: a JupyterLab, a browser, a trained model.  What takes long is handed
out first, so that both processes end at about the same time.  Tests that measure time are marked
``alone`` and run when nothing else does, by ``pytest -m alone``.
"""

import contextlib
import io
import itertools
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import settings

# The first compiles all kernels in a folder of its own and passes them on.  Those behind it, up to the
# browser, need no kernels or have some of their own, which keeps the other process away from the rest
# until then.  After these come the longest, and what is left follows by name.
FIRST = (
    "test_bench_warmup.py",
    "test_kernels_modes.py",
    "test_package_docstrings.py",
    "test_package_import.py",
    "test_package_layers.py",
    "test_package_tree.py",
    "test_links.py",
    "test_cli_console.py",
    "test_priors_formulas.py",
    "test_browser.py",
    "test_quick_studies.py",
    "test_course_notebooks.py",
    "test_bench_rows.py",
    "test_explorers.py",
    "test_site.py",
    "test_course_offline.py",
    "test_cli_reproduce.py",
    "test_course_animations.py",
)

# A deadline would measure how busy the machine is; what fails must fail again.
settings.register_profile("shared machine", deadline=None, derandomize=True, max_examples=40)
# Some ten minutes: pytest -n 2 tests/test_fuzz_*.py --hypothesis-profile=long
settings.register_profile("long", deadline=None, max_examples=20_000)
settings.load_profile("shared machine")

# Two processes with two threads of linear algebra each would wait for one another; notebooks and
# commands inherit this.  It counts where numpy is imported later.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# A shell's background job is started with Ctrl-C ignored, and so would be all that tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure(config: pytest.Config) -> None:
    """Hand out whole files, in the order of the tests."""
    if getattr(config.option, "dist", "no") == "load":
        config.option.dist = "loadfile"
    config.option.loadscopereorder = False


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """In one of several processes, order the tests by `FIRST` and leave out those marked ``alone``."""
    if not hasattr(config, "workerinput"):
        return
    rank = {name: number for number, name in enumerate(FIRST)}
    items.sort(key=lambda item: rank.get(item.path.name, len(FIRST)))
    reason = "measures time, so it needs the machine for itself: pytest -m alone"
    for item in items:
        if item.get_closest_marker("alone"):
            item.add_marker(pytest.mark.skip(reason=reason))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Show what each process did, and the texts that tests have recorded as their ``summary``."""
    done: dict[str, dict[str, float]] = {}
    for report in itertools.chain.from_iterable(terminalreporter.stats.values()):
        if worker := getattr(report, "worker_id", ""):
            files = done.setdefault(worker, {})
            file = report.nodeid.partition("::")[0]
            files[file] = files.get(file, 0.0) + report.duration
    for worker, files in sorted(done.items()):
        longest = sorted(files.items(), key=lambda item: -item[1])[:6]
        told = ", ".join(f"{Path(file).name} {seconds:.0f} s" for file, seconds in longest)
        terminalreporter.write_line(f"{worker} {sum(files.values()):.0f} s: {told}, ...")
    for report in terminalreporter.getreports("passed") + terminalreporter.getreports("failed"):
        for name, text in report.user_properties:
            if name == "summary" and report.when == "call":
                terminalreporter.section(report.nodeid)
                terminalreporter.write_line(text)


@pytest.fixture(scope="session")
def distributed():
    """Dask's library; where it is missing tests are skipped, and fail in CI."""
    try:
        import distributed
    except ImportError:
        if os.environ.get("CI") == "true":
            pytest.fail("distributed is missing; pip install -e .[dev] brings it.")
        pytest.skip("needs distributed")
    return distributed


@pytest.fixture(scope="session")
def require_ocr():
    """Skip where the OCR letters are missing; in CI, or if the file is damaged, fail."""
    require_data("ocr", "the OCR letters")


@pytest.fixture(scope="session")
def require_wnut17():
    """The same for the WNUT17 sentences."""
    require_data("wnut17", "the WNUT17 sentences")


@pytest.fixture(scope="session")
def require_bach():
    """The same for the Bach chorales."""
    require_data("bach", "the Bach chorales")


@pytest.fixture(scope="session")
def require_sst():
    """The same for the Stanford Sentiment Treebank."""
    require_data("sst", "the Stanford Sentiment Treebank")


def require_data(name, title):
    from medn_edu.datasets import status

    found = status(name=name)
    if found.path is None and os.environ.get("CI") != "true":
        pytest.skip(f"needs {title}: {found.problem}")
    if not found.valid:
        pytest.fail(found.problem)


@pytest.fixture(scope="session")
def ocr(require_ocr):
    """The OCR letters, loaded once; not to be changed by a test."""
    from medn_edu.datasets import load_ocr

    return load_ocr(download=False)


@dataclass(frozen=True)
class QuickStudies:
    """What `quick_studies` has done: results, what is published of them, and what was said."""

    folder: Path
    figures: Path
    code: int
    text: str
    seconds: float


@pytest.fixture(scope="session")
def quick_studies(require_ocr, require_bach, tmp_path_factory):
    """All studies at quick scale, run once; minutes, so only tests in test_quick_studies.py ask."""
    from joblib.externals.loky import get_reusable_executor

    from medn_edu.cli import main

    folder = tmp_path_factory.mktemp("studies")
    figures = folder / "figures"
    said = io.StringIO()
    command = ["reproduce", "all", "--jobs", "2", "--out", folder, "--publish", figures]
    start = time.monotonic()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        code = main([str(word) for word in command])
    # Else they end by and by, and their processor time is taken for that of other children.
    get_reusable_executor().shutdown(wait=True)
    return QuickStudies(folder, figures, code, said.getvalue(), time.monotonic() - start)


@pytest.fixture(scope="session")
def book(tmp_path_factory):
    """The book that ``MEDN_EDU_BOOK`` names, or one of three chapters; not to be changed by a test."""
    if named := os.environ.get("MEDN_EDU_BOOK"):
        return Path(named).resolve()
    from site_books import built_once

    folder = tmp_path_factory.getbasetemp()  # of this process, in the one of all
    return built_once((folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder) / "book")


@pytest.fixture
def small_groups(monkeypatch):
    """Cut even small data sets into groups for threads; returns the number of groups of samples."""
    from medn_edu.inference import groups

    monkeypatch.setattr(groups, "GROUP_NODES", 2)
    return lambda samples: len(groups.groups(samples))
