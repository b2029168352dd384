"""The benchmark: how fast this package is, next to others, on one thread, in one run.

Speeds on different days or machines are hard to compare.  So each measurement here is shown next to
one of a peer, made minutes apart on the same machine, and the ratio is what counts.

The main task has 26 labels and 128 binary pixels, and trains on folds 1-9 of the OCR letters.  If the
letters are missing, digit words take their place.  Then only the targets for synthetic sequences and
for text apply.

Text is a different task: there are tens of thousands of features, and a word has about a dozen of them.
The sentences are those of WNUT17, and sentences made up by `make_text`.  The made-up sentences are new
each time unless you give a seed, so nothing can be tuned to them.  Their optimum is taken to be the best
objective that either library finds.
"""

import importlib.metadata
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

Found = Mapping[str, Mapping[str, Any]]
"""What each task has measured."""

COLUMNS = ("work", "value", "unit", "peer", "peer_value", "ratio", "target", "reached", "remark")
"""Columns of ``bench.csv``."""

_ON_TEXT = ("l2", "l2-crfsuite", "l1", "l1-crfsuite", "m3n")
# Each peer runs right after the measurement it is compared with, so that both see the same load.
_TASKS = (
    "warm", "crf", "crfsuite-train", "crf-l1", "crfsuite-l1",
    "m3n-1", "m3n-0.1", "epsilon", "laplace", "laplace-variational",
    "laplace-1", "laplace-36", "laplace-268",
    "grid-bethe", "grid-ones", "grid-gaussian", "grid-bimodal",
    "l1-path", "l1-path-0.1", "l1-path-0.3", "l1-cutting-plane",
    *(f"{text}-{what}" for text in ("text-2000", "wnut17", "text-12000") for what in _ON_TEXT),
    "text-12000-memory",
    "viterbi", "crfsuite-viterbi", "hmmlearn-viterbi", "marginals", "hmmlearn-marginals",
    "import", "first-fit", "cold",
)  # fmt: skip
_SLOW = (
    "crfsuite-train", "crfsuite-l1", "cold",
    *(f"{text}-{what}" for text in ("text-2000", "wnut17") for what in ("l1", "l1-crfsuite")),
    *(f"text-12000-{what}" for what in (*_ON_TEXT, "memory")),
)  # fmt: skip
_CLOSENESS = 1e-4  # relative distance to the best known objective at which training counts as done
TRAININGS = (
    "crf", "crf-l1", "m3n-1", "m3n-0.1", "epsilon", "laplace", "laplace-variational",
)  # fmt: skip
_THREAD_LIMITS = dict.fromkeys(
    ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)


@dataclass(frozen=True)
class BenchRow:
    """One line of the benchmark."""

    work: str  # what was done
    value: float | None  # what this package needed or reached
    unit: str  # unit of the values
    peer: str = ""  # the peer that did the same, or the empty string
    peer_value: float | None = None  # what the peer needed or reached
    ratio: float | None = None  # how many times faster this package is
    target: str = ""  # what has to be reached, or the empty string
    reached: bool | None = None  # whether it was; None without a target or a measurement
    remark: str = ""  # what else there is to know


def measure(
    data: str,
    *,
    seed: int,
    quick: bool = False,
    progress: Callable[[int, int, str], Any] | None = None,
) -> dict[str, dict[str, Any]]:
    """Make all measurements, one process after the other.  The seed is for the made-up sentences."""
    tell = progress or (lambda n_done, n_all, what: None)
    tasks = [task for task in _TASKS if not (quick and task in _SLOW)]
    found = {}
    for number, task in enumerate(tasks):
        tell(number, len(tasks), task)
        found[task] = _cold() if task == "cold" else run_task(task, data, seed)
    tell(len(tasks), len(tasks), "")
    return found


def _cold() -> dict[str, Any]:
    """Measure compiling everything into an empty folder."""
    with tempfile.TemporaryDirectory() as folder:
        return run_task("warm", "digits", NUMBA_CACHE_DIR=folder)


def run_task(task: str, data: str, seed: int = 0, **environment: str) -> dict[str, Any]:
    """Run a task in its own process.  If the task fails, return the last line of its output."""
    command = [sys.executable, "-m", "medn_edu.bench.tasks", task, data, str(seed)]
    done = subprocess.run(
        command,
        env={**os.environ, **_THREAD_LIMITS, "TQDM_DISABLE": "1", **environment},
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        return {"failure": lines[-1]}
    return json.loads(done.stdout.strip().splitlines()[-1])


def report(found: Found, data: str) -> list[BenchRow]:
    """Turn measurements into the lines of the table."""
    found = {**found, **_reached_on_text(found)}
    trainings, others = _training_rows(found, data), _other_rows(found)
    if data != "ocr":
        trainings, others = ([_without_target(row) for row in rows] for rows in (trainings, others))
    return [
        *trainings, *_synthetic_rows(found), *_grid_rows(found), *_text_rows(found), *others
    ]  # fmt: skip


def _training_rows(found: Found, data: str) -> list[BenchRow]:
    """Return the lines for training on the OCR letters, or on what stands in for them."""
    l2 = "to 1e-4 of 18067.45" if data == "ocr" else "to 1e-4 of the optimum"
    l1 = "to 17218" if data == "ocr" else "to 1e-4 of the optimum"
    few = ", 100 words"
    return [
        _compared(found, "crf", "crfsuite-train", f"L2-CRF, Σ NLL + ½‖w‖², {l2}"),
        _limited(found, "crf", "L2-CRF, certified relative gap of 1e-4"),
        _compared(found, "crf-l1", "crfsuite-l1", f"L1-CRF, Σ NLL + ‖w‖₁, {l1}"),
        _limited(found, "m3n-1", "M3N, C = 1, 1 % gap", 7.0),
        _limited(found, "m3n-0.1", "M3N, C = 0.1, 1 % gap", 2.0),
        _limited(found, "epsilon", "ε = 0.1 between M3N and CRF, C = 0.1, 1 % gap"),
        _limited(found, "laplace", "LapMEDN, C = 1, λ = 36, 1 % gap", 30.0),
        _variational(found),
        _limited(found, "l1-path", "L1-M3N, C = 0.1, λ-path, 2 % gap"),
        _limited(found, "l1-path-0.1", f"L1-M3N, C = 0.1, λ-path, 1 % gap{few}", 8.0),
        _limited(found, "l1-path-0.3", f"L1-M3N, C = 0.3, λ-path, 2 % gap{few}", 20.0),
        _limited(found, "l1-cutting-plane", f"L1-M3N, C = 0.1, cutting plane, 1 % gap{few}", 20.0),
    ]


def _synthetic_rows(found: Found) -> list[BenchRow]:
    """Return the lines for training on synthetic sequences, which need no file."""
    work = "LapMEDN, C = 1, λ = {}, 1 % gap, 150 synthetic sequences"
    return [_limited(found, f"laplace-{lam}", work.format(lam), 0.5) for lam in (1, 36, 268)]


def _grid_rows(found: Found) -> list[BenchRow]:
    """Return the lines for graphs with cycles, which need no file either."""
    grids = "40 grids of 64 x 64"
    training = "{}, 12,160 Ising weights, ε = 1, price {:g} of ‖w‖²/2, certified gap of {:g}"
    return [
        _limited(found, "grid-bethe", f"{grids}: a sweep of messages, Bethe's numbers", 0.005),
        _limited(found, "grid-ones", f"{grids}: a sweep of messages, numbers of 1", 0.015),
        _limited(found, "grid-gaussian", training.format(f"{grids}, Gaussian noise", 1, 1e-5), 2.0),
        _limited(
            found, "grid-bimodal", training.format(f"{grids}, bimodal noise", 0.01, 1e-3), 5.0
        ),
    ]


def _reached_on_text(found: Found) -> dict[str, dict[str, Any]]:
    """Add to CRFs on text when they came close to the best objective that either library found."""
    reached = {}
    for text in _TEXTS:
        for penalty in ("l2", "l1"):
            tasks = (f"{text}-{penalty}", f"{text}-{penalty}-crfsuite")
            paths = {task: found[task]["path"] for task in tasks if "path" in found.get(task, {})}
            best = min((objective for path in paths.values() for _, objective in path), default=0.0)
            limit = best * (1 + _CLOSENESS)
            for task, path in paths.items():
                times = (seconds for seconds, objective in path if objective <= limit)
                reached[task] = {**found[task], "best": best, "to_target": min(times, default=None)}
    return reached


# The training data, and how many times faster than CRFsuite the L2-CRF has to be on each.
_TEXTS = {
    "text-2000": ("2,000 made-up sentences", 4.0),
    "text-12000": ("12,000 made-up sentences", 8.0),
    "wnut17": ("WNUT17", 4.0),
}


def _text_rows(found: Found) -> list[BenchRow]:
    """Return the lines for training on text."""
    rows = []
    for text, (what, least) in _TEXTS.items():
        l2 = f"{what}: L2-CRF, Σ NLL + ½‖w‖², to 1e-4 of the best known objective"
        l1 = f"{what}: L1-CRF, Σ NLL + ‖w‖₁, to 1e-4 of the best known objective"
        rows += [
            _compared(found, f"{text}-l2", f"{text}-l2-crfsuite", l2, least),
            _compared(found, f"{text}-l1", f"{text}-l1-crfsuite", l1, 3.0),
            _limited(found, f"{text}-m3n", f"{what}: M3N, C = 0.1, 1 % gap"),
        ]
    whole = f"{_TEXTS['text-12000'][0]}: L2-CRF"
    memory = _limited(found, "text-12000-memory", f"{whole}, certified relative gap of 1e-4")
    return [*rows, memory, _text_peak(found, f"peak memory, {whole}")]


def _text_peak(found: Found, work: str) -> BenchRow:
    task, peer_task = "text-12000-memory", "text-12000-l2-crfsuite"
    value, peer_value = (_get(found, one, "megabytes") for one in (task, peer_task))
    problems = [_problem(found, task), _problem(found, peer_task, "CRFsuite")]
    remark = "whole processes, which read the same sentences one at a time, libraries included"
    return BenchRow(
        work, value, "MB", "CRFsuite", peer_value, None, "≤ 1.5x CRFsuite",
        None if value is None or peer_value is None else value <= 1.5 * peer_value,
        "; ".join(dict.fromkeys(filter(None, problems))) or remark,
    )  # fmt: skip


def _other_rows(found: Found) -> list[BenchRow]:
    return [
        *_speeds("Viterbi, X·W included", found, "viterbi", 3.0, ("hmmlearn", "CRFsuite")),
        *_speeds("node marginals, X·W included", found, "marginals", 1.5, ("hmmlearn",)),
        _peak(found),
        _import_line(found),
        _limited(found, "first-fit", "first fit of a process, warm caches", 1.0),
        _limited(found, "cold", "everything compiled from cold", 60.0),
    ]


def _get(found: Found, task: str, key: str) -> float | None:
    value = found.get(task, {}).get(key)
    return None if value is None else float(value)


def _problem(found: Found, task: str, name: str = "") -> str:
    """Return why there is no measurement, or the empty string."""
    measured = found.get(task)
    if measured is None:
        return f"{name} left out by --quick".strip()
    if "no_data" in measured:
        return str(measured["no_data"])
    if "missing" in measured:
        return f"{name} not installed: pip install 'medn_edu[bench]'".strip()
    return f"{name} failed: {measured['failure']}".strip() if "failure" in measured else ""


def _remark(found: Found, task: str) -> str:
    measured = found.get(task, {})
    parts = [_problem(found, task)]
    if "primal" in measured:
        parts.append(f"primal {measured['primal']:.2f} after {measured['passes']} passes")
        parts.append(f"gap {measured['gap']:.2g}")
    if "evaluated" in measured:
        parts.append(
            f"evaluated anew {measured['evaluated']:.2f}, best known {measured['best']:.2f}"
        )
    if "compiled" in measured:
        parts.append(f"{measured['compiled']} variants of kernels")
    if "processor_seconds" in measured:  # far less than the elapsed time: a busy machine
        parts.append(f"{measured['processor_seconds']:.3g} s of processor time")
    if measured.get("goes", 1) > 1:
        parts.append(f"best of {measured['goes']} goes")
    return ", ".join(filter(None, parts))


def _limited(found: Found, task: str, work: str, limit: float | None = None) -> BenchRow:
    """Return a line for a time that has to stay below a limit."""
    value = _get(found, task, "seconds")
    return BenchRow(
        work, value, "s",
        target="" if limit is None else f"≤ {limit:g} s",
        reached=None if value is None or limit is None else value <= limit,
        remark=_remark(found, task),
    )  # fmt: skip


def _variational(found: Found) -> BenchRow:
    """Return the line for Algorithm 1, with its bound and its distance from the optimum."""
    task = "laplace-variational"
    row = _limited(found, task, "LapMEDN, C = 1, λ = 36, 3 variational iterations", 15.0)
    measured = found.get(task, {})
    if "primal" not in measured:
        return row
    # Both dual values are lower bounds on the same optimum.
    below = max(measured["dual"], found.get("laplace", {}).get("dual", measured["dual"]))
    remark = (
        f"bound {measured['bound']:.2f}, primal {measured['primal']:.2f}, certified to be at most "
        f"{measured['primal'] / below - 1:.2%} above the exact optimum, "
        f"{measured['processor_seconds']:.3g} s of processor time"
    )
    return replace(row, remark=remark)


def _compared(found: Found, task: str, peer_task: str, work: str, least: float = 8.0) -> BenchRow:
    """Return a line for the time to an objective, which may have to be a fraction of CRFsuite's."""
    name = "CRFsuite"
    value, peer_value = (_get(found, one, "to_target") for one in (task, peer_task))
    ratio = None if value is None or peer_value is None else peer_value / value
    remarks = [_remark(found, task), _problem(found, peer_task, name)]
    if not remarks[1] and peer_value is None:
        remarks[1] = f"{name} stopped at {_get(found, peer_task, 'primal'):.2f}"
    elif "evaluated" in found.get(peer_task, {}):
        remarks[1] = f"{name} evaluated anew {found[peer_task]['evaluated']:.2f}"
    return BenchRow(
        work, value, "s", name, peer_value, ratio,
        f"≥ {least:g}x {name}",
        None if ratio is None else ratio >= least,
        "; ".join(dict.fromkeys(filter(None, remarks))),
    )  # fmt: skip


def _speeds(
    work: str,
    found: Found,
    task: str,
    least: float,
    peers: Sequence[str],
) -> list[BenchRow]:
    """Return one line per peer for a speed in millions of letters per second."""
    value = _get(found, task, "letters_per_second")
    rows = []
    for name in peers:
        peer_task = f"{name.lower()}-{task}"
        peer_value = _get(found, peer_task, "letters_per_second")
        ratio = None if value is None or peer_value is None else value / peer_value
        remarks = (_problem(found, task), _problem(found, peer_task, name))
        rows.append(
            BenchRow(
                work,
                None if value is None else value / 1e6,
                "M letters/s",
                name,
                None if peer_value is None else peer_value / 1e6,
                ratio,
                f"≥ {least:g} M letters/s",
                None if value is None else value >= least * 1e6,
                "; ".join(filter(None, remarks)),
            )
        )
    return rows


def _peak(found: Found) -> BenchRow:
    value = _highest(found, TRAININGS)
    return BenchRow(
        "peak memory of these trainings", value, "MB",
        "CRFsuite", _highest(found, ("crfsuite-train", "crfsuite-l1")), None, "≤ 400 MB",
        None if value is None else value <= 400,
        "n/a on this system" if value is None else "whole process, data and libraries included",
    )  # fmt: skip


def _highest(found: Found, tasks: Sequence[str]) -> float | None:
    peaks = [_get(found, task, "megabytes") for task in tasks]
    return max((peak for peak in peaks if peak is not None), default=None)


def _import_line(found: Found) -> BenchRow:
    value = _get(found, "import", "seconds")
    loads = found.get("import", {}).get("loads", [])
    return BenchRow(
        "import medn_edu", value, "s", target="≤ 0.3 s, no heavy library",
        reached=None if value is None else value <= 0.3 and not loads,
        remark=f"loads {', '.join(loads)}" if loads else _problem(found, "import"),
    )  # fmt: skip


def _without_target(row: BenchRow) -> BenchRow:
    return replace(row, target="", reached=None)


def machine_facts() -> dict[str, str]:
    """Return what the numbers depend on: processor, load, system, versions."""
    names = ("numpy", "scipy", "numba", "python-crfsuite", "hmmlearn")
    versions = [f"{name} {version}" for name in names if (version := _version(name))]
    return {
        "processor": _processor(),
        "load": " ".join(f"{load:.2f}" for load in os.getloadavg())
        if hasattr(os, "getloadavg")
        else "n/a",
        "system": platform.platform(),
        "versions": ", ".join(
            [f"medn_edu {_version('medn_edu')}", f"Python {platform.python_version()}", *versions]
        ),
    }


def is_busy() -> bool:
    """Say whether other processes are taking so much of this machine that times will suffer."""
    return hasattr(os, "getloadavg") and os.getloadavg()[0] > (os.cpu_count() or 1) - 1


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
