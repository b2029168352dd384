"""The benchmark: how fast this package is, beside others, on one thread, in one run.

Speeds on different days or machines say little, so each measurement here stands beside that of a
peer made minutes apart on the same machine, and the ratio is what counts.  The work: 26 labels, 128
binary pixels, folds 1-9 of the OCR letters to train.  Where those are missing, digit words stand
in, and no target applies.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["COLUMNS", "BenchRow", "is_busy", "machine_facts", "measure", "report"]

COLUMNS = ("work", "value", "unit", "peer", "peer_value", "ratio", "target", "reached", "remark")
"""Columns of ``bench.csv``."""

_OWN = ("crf", "m3n-1", "m3n-0.1", "viterbi", "marginals", "import", "first-fit")
_QUICK_PEERS = ("crfsuite-viterbi", "hmmlearn-viterbi", "hmmlearn-marginals")
_SLOW_PEERS = ("crfsuite-train",)
_THREAD_LIMITS = dict.fromkeys(
    ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)


@dataclass(frozen=True)
class BenchRow:
    """One line of the benchmark.

    Parameters
    ----------
    work : str
        What was done.
    value : float or None
        What this package needed or reached.
    unit : str
        Unit of the values.
    peer : str
        Who else did it, or the empty string.
    peer_value : float or None
        What the peer needed or reached.
    ratio : float or None
        How many times faster this package is.
    target : str
        What it has to reach, or the empty string.
    reached : bool or None
        Whether it did; None where there is no target or no measurement.
    remark : str
        What else there is to know.
    """

    work: str
    value: float | None
    unit: str
    peer: str = ""
    peer_value: float | None = None
    ratio: float | None = None
    target: str = ""
    reached: bool | None = None
    remark: str = ""


def measure(
    data: str, *, quick: bool = False, progress: Callable[[int, int, str], Any] | None = None
) -> dict[str, dict[str, Any]]:
    """Make all measurements, one process after the other.

    Parameters
    ----------
    data : {"ocr", "digits"}
        What to train on.
    quick : bool, default=False
        Leave out the slow peers and compiling everything from cold.
    progress : callable, optional
        Called as ``progress(n_done, n_all, task)``.

    Returns
    -------
    dict from task to its measurements
        ``{"missing": package}`` where a peer is not installed, ``{"failure": text}`` where a
        measurement failed.
    """
    tell = progress or (lambda n_done, n_all, what: None)
    tasks = ["warm", *_OWN, *_QUICK_PEERS, *(() if quick else (*_SLOW_PEERS, "cold"))]
    found = {}
    for number, task in enumerate(tasks):
        tell(number, len(tasks), task)
        found[task] = _cold() if task == "cold" else _run(task, data)
    tell(len(tasks), len(tasks), "")
    return found


def _cold() -> dict[str, Any]:
    """Measure compiling everything into an empty folder."""
    with tempfile.TemporaryDirectory() as folder:
        return _run("warm", "digits", NUMBA_CACHE_DIR=folder)


def _run(task: str, data: str, **environment: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "medn_edu.experiments.bench_tasks", task, data]
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


def report(found: Mapping[str, Mapping[str, Any]], data: str) -> list[BenchRow]:
    """Turn measurements into the lines of the table.

    Parameters
    ----------
    found : dict from task to its measurements
        What `measure` returned.
    data : {"ocr", "digits"}
        What was trained on; only ``"ocr"`` has targets.

    Returns
    -------
    list of BenchRow
        The lines.
    """
    target = "18067.45" if data == "ocr" else "the optimum"
    rows = [
        _compared(
            f"L2-CRF, Σ NLL + ½‖w‖², to 1e-4 of {target}", "s", found, "crf", "to_target",
            [("CRFsuite", "crfsuite-train")], (8.0, "≥ 8x CRFsuite"),
        ),
        _limited("L2-CRF, certified relative gap of 1e-4", "s", found, "crf", "seconds"),
        _limited("M3N, C = 1, 1 % gap", "s", found, "m3n-1", "seconds", 7.0),
        _limited("M3N, C = 0.1, 1 % gap", "s", found, "m3n-0.1", "seconds", 2.0),
        *_speeds("Viterbi, X·W included", found, "viterbi", 3.0, ("hmmlearn", "CRFsuite")),
        *_speeds("node marginals, X·W included", found, "marginals", 1.5, ("hmmlearn",)),
        _peak(found),
        _import_line(found),
        _limited("first fit of a process, warm caches", "s", found, "first-fit", "seconds", 1.0),
        _limited("everything compiled from cold", "s", found, "cold", "seconds", 60.0),
    ]  # fmt: skip
    return rows if data == "ocr" else [_without_target(row) for row in rows]


def _get(found: Mapping[str, Mapping[str, Any]], task: str, key: str) -> float | None:
    value = found.get(task, {}).get(key)
    return None if value is None else float(value)


def _problem(found: Mapping[str, Mapping[str, Any]], task: str, name: str = "") -> str:
    """Return why there is no measurement, or the empty string."""
    measured = found.get(task)
    if measured is None:
        return f"{name} left out by --quick".strip()
    if "missing" in measured:
        return f"{name} not installed: pip install 'medn_edu[bench]'".strip()
    return f"{name} failed: {measured['failure']}".strip() if "failure" in measured else ""


def _training_remark(found: Mapping[str, Mapping[str, Any]], task: str) -> str:
    measured = found.get(task, {})
    if "primal" not in measured:
        return _problem(found, task)
    return (
        f"primal {measured['primal']:.2f} after {measured['passes']} passes, "
        f"gap {measured['gap']:.2g}, {measured['processor_seconds']:.3g} s of processor time"
    )


def _limited(
    work: str,
    unit: str,
    found: Mapping[str, Mapping[str, Any]],
    task: str,
    key: str,
    limit: float | None = None,
) -> BenchRow:
    """Return a line for a time that has to stay below a limit."""
    value = _get(found, task, key)
    return BenchRow(
        work, value, unit,
        target="" if limit is None else f"≤ {limit:g} {unit}",
        reached=None if value is None or limit is None else value <= limit,
        remark=_training_remark(found, task),
    )  # fmt: skip


def _compared(
    work: str,
    unit: str,
    found: Mapping[str, Mapping[str, Any]],
    task: str,
    key: str,
    peers: Sequence[tuple[str, str]],
    target: tuple[float, str],
) -> BenchRow:
    """Return a line for a time that has to be a fraction of a peer's."""
    value = _get(found, task, key)
    name, peer_task = peers[0]
    peer_value = _get(found, peer_task, key)
    ratio = None if value is None or peer_value is None else peer_value / value
    remarks = [_training_remark(found, task), _problem(found, peer_task, name)]
    if not remarks[1] and peer_value is None:
        remarks[1] = f"{name} stopped at {_get(found, peer_task, 'primal'):.2f}"
    return BenchRow(
        work, value, unit, name, peer_value, ratio, target[1],
        None if ratio is None else ratio >= target[0],
        "; ".join(filter(None, remarks)),
    )  # fmt: skip


def _speeds(
    work: str,
    found: Mapping[str, Mapping[str, Any]],
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


def _peak(found: Mapping[str, Mapping[str, Any]]) -> BenchRow:
    peaks = [_get(found, task, "megabytes") for task in ("crf", "m3n-1", "m3n-0.1")]
    known = [peak for peak in peaks if peak is not None]
    value = max(known, default=None)
    return BenchRow(
        "peak memory of these trainings", value, "MB",
        "CRFsuite", _get(found, "crfsuite-train", "megabytes"), None, "≤ 400 MB",
        None if value is None else value <= 400,
        "whole process, data and libraries included" if known else "n/a on this system",
    )  # fmt: skip


def _import_line(found: Mapping[str, Mapping[str, Any]]) -> BenchRow:
    value = _get(found, "import", "seconds")
    loads = found.get("import", {}).get("loads", [])
    return BenchRow(
        "import medn_edu", value, "s", target="≤ 0.3 s, no heavy library",
        reached=None if value is None else value <= 0.3 and not loads,
        remark=f"loads {', '.join(loads)}" if loads else _problem(found, "import"),
    )  # fmt: skip


def _without_target(row: BenchRow) -> BenchRow:
    return BenchRow(**{**vars(row), "target": "", "reached": None})


def machine_facts() -> dict[str, str]:
    """Return what the numbers depend on: processor, load, system, versions.

    Returns
    -------
    dict from str to str
        The facts, in the order in which to print them.
    """
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
    """Say whether other processes are taking so much of this machine that times will suffer.

    Returns
    -------
    bool
        True if, over the last minute, fewer than one processor was free; False where nobody counts.
    """
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
