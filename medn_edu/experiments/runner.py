"""Running a study: every fit once, results kept at once, the same tables however it was run.

Each finished fit becomes a row of ``results.csv``, sorted by key.  How long fits took stands in a file
of its own, ``timings.csv``, by the clock and by the processor: times differ from run to run, results
do not.  A fit that fails is a row with its error; the next run tries it again.  So it does with a row
that another version of this package or a model with other settings has made.  Rows of fits that a run
does not ask for stay as they are.

A killed run resumes where it was.  What is finished goes at once to the end of ``journal.csv``, which
costs the same however long the tables are; these are replaced in one step, now and then, so that they
take a hundredth of the time at most, and at the end.  Whoever opens the folder puts the journal's fits
into the tables first.  Rows are kept in memory as they would be read from the file, rounded, so that
whatever is computed from them does not depend on interruptions either.

Fits are independent of each other, but for those that use constants which another fit has chosen:
these wait for it.  Workers are processes of their own, each with one thread for linear algebra, so
that a fit gives the same bits whatever runs beside it; with a scheduler they are those of a cluster.
A worker that dies, for want of memory say, takes no other fits with it: those that may have been under
way are made once more, one at a time, and one that breaks its process again is recorded as failed.
"""

from __future__ import annotations

import contextlib
import os
import signal
import textwrap
import threading
import time
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from medn_edu import __version__
from medn_edu.experiments.models import make_model, sparsity
from medn_edu.experiments.runs import origin, summed_up
from medn_edu.experiments.selection import Selected, constants_text, read_constants
from medn_edu.experiments.specs import FitSpec, Report, Split, Study, TraceStudy
from medn_edu.experiments.tables import csv_text, read_csv
from medn_edu.files import remove_leftovers, write_atomically

__all__ = ["RESULT_COLUMNS", "ResultStore", "evaluate", "label_error", "run_study", "write_report"]

RESULT_COLUMNS = (
    "key", "data", "fold", "model", "parameters", "seed", "chosen", "n_train", "n_test",
    "error", "train_error", "primal", "dual", "relative_gap", "n_passes", "n_weights", "n_nonzero",
    "n_large", "n_support", "status", "failure", "settings", "version",
)  # fmt: skip
"""Columns of ``results.csv``."""

Constants = tuple[tuple[str, float], ...]
Fit = tuple[dict[str, Any], float, float]
Call = tuple[FitSpec, Study, Constants]

_TIMING_COLUMNS = ("key", "seconds", "cpu_seconds")
_PATIENCE = 10  # seconds, with a scheduler
_SHARE_OF_WRITING = 0.01  # of the time, at most, for whole tables


@dataclass(eq=False)
class ResultStore:
    """The results of a study in a folder, always complete on disk.

    Parameters
    ----------
    folder : Path
        Where ``results.csv`` and ``timings.csv`` live, and ``journal.csv`` with the fits that were
        finished after these were written.
    study : Study, optional
        The study, where it has models or columns of its own.
    rows : dict from key to row
        The results.
    seconds, cpu_seconds : dict from key to float
        How long the fits took, by the clock and by the processor.
    """

    folder: Path
    study: Study | None = None
    rows: dict[str, dict[str, Any]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    cpu_seconds: dict[str, float] = field(default_factory=dict)
    _next_write: float = field(default=0.0, init=False)

    @property
    def results_file(self) -> Path:
        """The table of results."""
        return self.folder / "results.csv"

    @property
    def timings_file(self) -> Path:
        """The table of times."""
        return self.folder / "timings.csv"

    @property
    def journal_file(self) -> Path:
        """The fits that are in no table yet."""
        return self.folder / "journal.csv"

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of the table of results."""
        return RESULT_COLUMNS + (self.study.measured if self.study else ())

    @classmethod
    def open(cls, folder: Path, study: Study | None = None, *, force: bool = False) -> ResultStore:
        """Open a folder, reading what earlier runs left there.

        Parameters
        ----------
        folder : Path
            The folder; made if it is missing.
        study : Study, optional
            The study, where it has models or columns of its own.
        force : bool, default=False
            Forget earlier results.

        Returns
        -------
        ResultStore
            The store.

        Raises
        ------
        ValueError
            If there are results that cannot be read.
        OSError
            If the folder cannot be made or read.
        """
        folder.mkdir(parents=True, exist_ok=True)
        store = cls(folder, study)
        remove_leftovers(folder)  # of a run that was killed while writing
        if force:
            for file in (store.journal_file, store.results_file, store.timings_file):
                file.unlink(missing_ok=True)
        if store.results_file.exists():
            store.rows = {row["key"]: row for row in _read(store.results_file, store.columns)}
        if store.timings_file.exists():
            for row in _read(store.timings_file, _TIMING_COLUMNS):
                store._note_times(row)
        if store.journal_file.exists():  # of a run that was killed
            for row in _read(store.journal_file, store._journal_columns, torn=True):
                store._note_times(row)
                store.rows[row["key"]] = {name: row[name] for name in store.columns}
            store.write()
        return store

    def is_done(self, spec: FitSpec) -> bool:
        """Say whether a fit has been made without failure.

        Parameters
        ----------
        spec : FitSpec
            The fit.

        Returns
        -------
        bool
            False as well for a fit that failed, and for one that another version of this package
            or a model with other settings made, so that it is made again.
        """
        row = self.rows.get(spec.key)
        if row is None or row.get("failure"):
            return False
        return str(row.get("version")) == __version__ and row.get("settings") == _settings(
            spec, self.study, self.constants(spec)
        )

    def constants(self, spec: FitSpec) -> Constants:
        """Return the constants of a fit, chosen ones included.

        Parameters
        ----------
        spec : FitSpec
            The fit.

        Returns
        -------
        tuple of (name, value)
            Its own parameters, then those that another fit has chosen for it, where that is done.
        """
        chosen = self.rows.get(spec.after, {}).get("chosen") if spec.after else None
        return spec.parameters + read_constants(chosen)

    def add(self, row: dict[str, Any], seconds: float, cpu_seconds: float) -> None:
        """Keep a finished fit.

        Parameters
        ----------
        row : dict
            Its result.
        seconds, cpu_seconds : float
            How long it took, by the clock and by the processor.
        """
        times = {"seconds": round(seconds, 3), "cpu_seconds": round(cpu_seconds, 3)}
        entry = csv_text([{**row, **times}], self._journal_columns)
        [kept] = read_csv(entry)
        self._note_times(kept)
        self.rows[kept["key"]] = {name: kept[name] for name in self.columns}
        if time.monotonic() >= self._next_write:
            self.write()
        else:
            self._append(entry)

    def write(self) -> None:
        """Write both tables; the times first, as a fit counts as done once its result is there."""
        start = time.monotonic()
        times = [{"key": key, **self._times(key)} for key in sorted(self.seconds)]
        write_atomically(self.timings_file, csv_text(times, _TIMING_COLUMNS))
        ordered = [self.rows[key] for key in sorted(self.rows)]
        write_atomically(self.results_file, csv_text(ordered, self.columns))
        self.journal_file.unlink(missing_ok=True)
        end = time.monotonic()
        self._next_write = end + (end - start) / _SHARE_OF_WRITING

    @property
    def _journal_columns(self) -> tuple[str, ...]:
        return self.columns + _TIMING_COLUMNS[1:]

    def _append(self, entry: str) -> None:
        """Add a fit to the journal, whose first line names the columns."""
        names, _, line = entry.partition("\n")
        with self.journal_file.open("ab") as journal:
            journal.write((line if journal.tell() else f"{names}\n{line}").encode())
            journal.flush()
            os.fsync(journal.fileno())

    def _note_times(self, row: Mapping[str, Any]) -> None:
        for name, times in (("seconds", self.seconds), ("cpu_seconds", self.cpu_seconds)):
            if row[name] is not None:
                times[row["key"]] = row[name]

    def timed(self, rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return rows of results with the times that training took.

        Parameters
        ----------
        rows : iterable of dict
            Rows of the results.

        Returns
        -------
        list of dict
            Copies with ``seconds`` and ``cpu_seconds``, None where they are not known.
        """
        return [{**row, **self._times(row["key"])} for row in rows]

    def _times(self, key: str) -> dict[str, float | None]:
        return {"seconds": self.seconds.get(key), "cpu_seconds": self.cpu_seconds.get(key)}


def run_study(
    study: Study,
    specs: Sequence[FitSpec],
    store: ResultStore,
    *,
    n_jobs: int = 1,
    scheduler: str | None = None,
    progress: Callable[[int, int], Any] | None = None,
) -> list[dict[str, Any]]:
    """Make the fits of a study that are not done yet.

    Parameters
    ----------
    study : Study
        The study.
    specs : sequence of FitSpec
        Its fits, from short to long.  A single worker takes them in this order, so that something
        is done early; several take the long ones first, so that none idles at the end.
    store : ResultStore
        Where results are kept.
    n_jobs : int, default=1
        Fits at a time, each in a process of its own if there are several; the tables do not depend on
        it.
    scheduler : str, optional
        Address of a Dask scheduler, whose workers make the fits instead.
    progress : callable, optional
        Called as ``progress(n_done, n_all)`` at the start and after each fit.

    Returns
    -------
    list of dict
        The rows of these fits, sorted by key.

    Raises
    ------
    ValueError
        If the study has models or columns of its own and the store was opened without it.
    """
    if (study.measured or study.models) and store.study is not study:
        raise ValueError(f"the store does not know {study.name}; open it with the study.")
    tell = progress or (lambda n_done, n_all: None)
    first = [spec for spec in specs if not spec.after]
    second = [spec for spec in specs if spec.after]  # whose constants others choose
    undone = [spec for spec in second if not store.is_done(spec)]
    try:
        for group, later in ((first, undone), (second, [])):
            waiting = [spec for spec in group if not store.is_done(spec)]
            n_done = len(specs) - len(waiting) - len(later)
            if group is first:
                tell(n_done, len(specs))
            if not waiting:
                continue
            study.split(waiting[0])  # reads the data before workers start; fails early without
            with contextlib.closing(_fits(study, waiting, store, n_jobs, scheduler)) as fits:
                for fit in fits:
                    store.add(*fit)
                    n_done += 1
                    tell(n_done, len(specs))
    finally:
        if store.rows:
            store.write()
    return [store.rows[key] for key in sorted({spec.key for spec in specs})]


def _fits(
    study: Study, specs: Sequence[FitSpec], store: ResultStore, n_jobs: int, scheduler: str | None
) -> Generator[Fit, None, None]:
    """Make fits, yielding each when it is done."""
    if n_jobs == 1 and scheduler is None:
        for spec in specs:
            yield evaluate(spec, study, store.constants(spec))
        return
    calls = {spec.key: (spec, study, store.constants(spec)) for spec in specs[::-1]}
    if scheduler is None:
        yield from _fits_of_processes(calls, n_jobs)
    else:
        yield from _fits_of_a_cluster(calls, scheduler)


def _fits_of_processes(calls: dict[str, Call], n_jobs: int) -> Generator[Fit, None, None]:
    """Make fits in processes of their own."""
    waiting = dict(calls)
    while waiting:
        try:
            with contextlib.closing(_side_by_side(list(waiting.values()), n_jobs)) as fits:
                for fit in fits:
                    del waiting[fit[0]["key"]]
                    yield fit
        except BrokenProcessPool:
            for key in list(waiting)[: 2 * n_jobs]:  # as many are handed out at a time
                yield _alone(waiting.pop(key))


def _side_by_side(calls: Sequence[Call], n_jobs: int) -> Generator[Fit, None, None]:
    parent = os.getpid()
    with joblib.parallel_config("loky", inner_max_num_threads=1), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".* have been cancelled")  # by Ctrl-C
        jobs = joblib.Parallel(n_jobs, return_as="generator_unordered", batch_size=1)
        work = (joblib.delayed(_evaluate_in_a_worker)(parent, *call) for call in calls)
        with contextlib.closing(jobs(work)) as fits:
            yield from fits


def _alone(call: Call) -> Fit:
    """Make a fit with no other beside it, in a process that it may break."""
    try:
        [fit] = _side_by_side([call], 2)
        return fit
    except BrokenProcessPool:
        return _broken(call, "its process ended; perhaps memory ran out")


def _broken(call: Call, why: str) -> Fit:
    """Return the row of a fit that no worker could make."""
    spec, _, constants = call
    return {**_first_columns(spec, constants), "failure": f"WorkerError: {why}."}, 0.0, 0.0


def _evaluate_in_a_worker(parent: int, spec: FitSpec, study: Study, constants: Constants) -> Fit:
    _tie_to(parent)
    return evaluate(spec, study, constants)


@cache
def _tie_to(parent: int) -> None:
    """Let this process end soon after the one that started it, and leave Ctrl-C to that."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=watch, daemon=True).start()


def _fits_of_a_cluster(calls: Mapping[str, Call], scheduler: str) -> Generator[Fit, None, None]:
    """Make fits with the workers of a Dask scheduler."""
    with _client(scheduler) as client:
        from distributed import as_completed

        futures = {client.submit(evaluate, *call, pure=False): call for call in calls.values()}
        for future in as_completed(futures, loop=client.loop):
            if future.status == "finished":
                yield future.result()
            elif future.status == "error":  # evaluate raises nothing: a worker died, repeatedly
                yield _broken(futures[future], str(future.exception()))
            else:
                raise ConnectionError(
                    f"the Dask scheduler at {scheduler} has gone; start it again."
                )
            future.release()


def _client(scheduler: str) -> Any:
    """Return a client of a Dask scheduler that has workers."""
    try:
        from distributed import Client
    except ImportError:
        raise ValueError(
            "Dask's scheduler is missing here; pip install 'medn_edu[distributed]' brings it."
        ) from None
    try:
        client = Client(scheduler, timeout=_PATIENCE, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ConnectionError(
            f"no Dask scheduler answers at {scheduler!r} ({type(error).__name__}); expected an "
            "address such as tcp://127.0.0.1:8786, which `dask scheduler` prints."
        ) from None
    try:
        client.wait_for_workers(1, timeout=_PATIENCE)
    except TimeoutError:
        client.close()
        raise ConnectionError(
            f"the Dask scheduler at {scheduler} has no workers; `dask worker {scheduler}` adds one."
        ) from None
    return client


def write_report(
    study: Study | TraceStudy,
    rows: Sequence[dict[str, Any]],
    folder: Path,
    scale: str,
    seed: int = 0,
    run: dict[str, Any] | None = None,
) -> Report | None:
    """Sum the results of a study up and save table and caption.

    Parameters
    ----------
    study : Study or TraceStudy
        The study.
    rows : sequence of dict
        Its rows, with times.
    folder : Path
        Where to; it must exist.
    scale : str
        The scale of the run, which the caption names.
    seed : int, default=0
        Seed of all draws, as well.
    run : dict, optional
        How long it took, as `medn_edu.experiments.runs.summed_up` says; unless given, only
        processor times are known.

    Returns
    -------
    Report or None
        What was saved; None for a study without a report, which has no table but a caption.

    Raises
    ------
    OSError
        If the folder cannot be written.
    """
    report = study.report(rows, scale) if study.report else None
    if report is not None:
        write_atomically(folder / "table.csv", csv_text(report.rows, report.columns))
        caption = report.caption
    else:
        assert isinstance(study, Study)
        sentences = [text[:1].upper() + text[1:] for text in (study.summary, study.remarks) if text]
        caption = textwrap.fill("  ".join(f"{text.rstrip('.')}." for text in sentences), 100) + "\n"
    if run is None:
        run = summed_up(folder, len(rows), sum(row.get("cpu_seconds") or 0.0 for row in rows))
    made = textwrap.fill(origin(study.name, scale, seed, run), 100)
    write_atomically(folder / "caption.md", f"{caption}\n{made}\n")
    return report


def evaluate(spec: FitSpec, study: Study, constants: Constants | None = None) -> Fit:
    """Make one fit and measure it.

    Parameters
    ----------
    spec : FitSpec
        The fit.
    study : Study
        Its study, which knows the data.
    constants : tuple of (name, value), optional
        What the model is built with; the spec's parameters unless given.

    Returns
    -------
    row : dict
        The result, with the columns `RESULT_COLUMNS` and those of the study; a failure is a row with
        its error.
    seconds : float
        Time that training took.
    cpu_seconds : float
        The same by the processor, counting this thread alone: other fits may be under way.
    """
    constants = spec.parameters if constants is None else constants
    row = _first_columns(spec, constants)
    start, cpu_start = time.perf_counter(), time.thread_time()
    try:
        row["settings"] = _settings(spec, study, constants)
        if spec.after and constants == spec.parameters:
            raise ValueError(f"no constants were chosen by {spec.after}.")
        data = study.split(spec)
        model = _model(spec, study, constants)
        start, cpu_start = time.perf_counter(), time.thread_time()
        with _quietly():
            model.fit(data.X_train, data.y_train)
        seconds, cpu_seconds = time.perf_counter() - start, time.thread_time() - cpu_start
        row.update(_measure(model, data))
        if study.measure is not None:
            row.update(study.measure(spec, model))
    except Exception as error:
        row["failure"] = f"{type(error).__name__}: {error}"
        seconds, cpu_seconds = time.perf_counter() - start, time.thread_time() - cpu_start
    return row, seconds, cpu_seconds


def _first_columns(spec: FitSpec, constants: Constants) -> dict[str, Any]:
    """Return what is known of a fit before it is made."""
    return {
        "key": spec.key,
        "data": spec.data,
        "fold": spec.fold,
        "model": spec.model,
        "parameters": constants_text(constants),
        "seed": spec.seed,
        "version": __version__,
    }


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    """Train without warnings of early ends, as the gap stands in the table, and with one thread."""
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def label_error(predicted: Iterable[Any], true: Iterable[Any]) -> float:
    """Return the share of nodes whose label is wrong.

    Parameters
    ----------
    predicted, true : iterable of label sequences
        Labels, one sequence per sample.

    Returns
    -------
    float
        Between 0 and 1.

    Examples
    --------
    >>> label_error(["abc"], ["abd"])
    0.3333333333333333
    """
    pairs = [
        (a, b)
        for one, other in zip(predicted, true, strict=True)
        for a, b in zip(one, other, strict=True)
    ]
    return sum(a != b for a, b in pairs) / len(pairs)


def _model(spec: FitSpec, study: Study | None, constants: Constants) -> Any:
    models = study.models if study else None
    return make_model(spec.model, models, seed=spec.seed, **dict(constants))


def _settings(spec: FitSpec, study: Study | None, constants: Constants) -> str:
    """Return all that a fit's model is built with: its defaults and tolerance may change."""
    settings = _model(spec, study, constants).get_params(deep=False)
    kept = {name: value for name, value in settings.items() if name not in ("n_jobs", "verbose")}
    return " ".join(f"{name}={value}" for name, value in sorted(kept.items()))


def _measure(model: Any, data: Split) -> dict[str, Any]:
    """Return the columns of the results that a trained model fills."""
    result = getattr(model, "result_", None)
    tested = len(data.X_test) > 0
    return {
        "chosen": constants_text(model.chosen_.items()) if isinstance(model, Selected) else "",
        "n_train": len(data.X_train),
        "n_test": len(data.X_test),
        "error": label_error(model.predict(data.X_test), data.y_test) if tested else None,
        "train_error": label_error(model.predict(data.X_train), data.y_train),
        "primal": getattr(result, "primal", None),
        "dual": _finite(getattr(result, "dual", None)),
        "relative_gap": _finite(getattr(result, "relative_gap", None)),
        "n_passes": getattr(result, "n_passes", None),
        **sparsity(model),
        "status": getattr(result, "status", ""),
        "failure": "",
    }


def _finite(value: float | None) -> float | None:
    return value if value is not None and np.isfinite(value) else None


def _read(path: Path, columns: Sequence[str], *, torn: bool = False) -> list[dict[str, Any]]:
    """Read a table that has these columns; the end of a torn one may be missing."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace" if torn else "strict")
        if torn:
            text = text[: text.rfind("\n") + 1]
            if not text:
                return []
        if text.partition("\n")[0] != ",".join(columns):
            raise ValueError("its columns are not those of this version.")
        return read_csv(text)
    except ValueError as error:  # UnicodeDecodeError is one, too
        raise ValueError(
            f"{path} holds results that cannot be continued: {error}  Start over with --force, or "
            "choose another folder with --out."
        ) from None
