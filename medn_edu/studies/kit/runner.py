"""Running a study: every fit once, results kept at once, the same tables however it was run.

`medn_edu.studies.kit.results` keeps what is finished, so that a run which was killed goes on where it
was.

Fits are independent of each other, but for those that use constants which another fit has chosen:
these wait for it.  Workers are processes of their own; with a scheduler they are those of a cluster,
one thread in each.  Everything from the data to the last measured number is computed with one thread
for linear algebra, here as there, so that a fit gives the same bits whatever runs at the same time.
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
import traceback
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from functools import cache
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from medn_edu.files import write_atomically
from medn_edu.studies.kit.models import sparsity
from medn_edu.studies.kit.results import (
    Constants,
    ResultStore,
    build_model,
    first_columns,
)
from medn_edu.studies.kit.results import settings_text as _settings
from medn_edu.studies.kit.runs import origin, summed_up
from medn_edu.studies.kit.selection import Selected, constants_text
from medn_edu.studies.kit.specs import FitSpec, Report, Split, Study, TraceStudy
from medn_edu.studies.kit.tables import csv_text

Fit = tuple[dict[str, Any], float, float]
Call = tuple[FitSpec, Study, Constants]

_PACKAGE = Path(__file__).resolve().parents[2]
_PATIENCE = 10  # seconds, with a scheduler


def run_study(
    study: Study,
    specs: Sequence[FitSpec],
    store: ResultStore,
    *,
    n_jobs: int = 1,
    scheduler: str | None = None,
    progress: Callable[[int, int], Any] | None = None,
) -> list[dict[str, Any]]:
    """Make the fits of a study that are not done yet."""
    own = study.measured or study.models or study.revision > 1
    if own and store.study is not study:
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
            read_data(study, waiting[0])  # before workers start; fails early without
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
    """Make a fit with no other running, in a process that it may break."""
    try:
        [fit] = _side_by_side([call], 2)
        return fit
    except BrokenProcessPool:
        return _broken(call, "its process ended; perhaps memory ran out")


def _broken(call: Call, why: str) -> Fit:
    """Return the row of a fit that no worker could make."""
    spec, _, constants = call
    return {**first_columns(spec, constants), "failure": f"WorkerError: {why}."}, 0.0, 0.0


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
            _refuse_threads(client, scheduler)  # of workers that have come since
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
            f"the Dask scheduler at {scheduler} has no workers; `{_worker(scheduler)}` adds one."
        ) from None
    try:
        _refuse_threads(client, scheduler)
    except ValueError:
        client.close()
        raise
    return client


def _refuse_threads(client: Any, scheduler: str) -> None:
    """Let no two fits share a process: threads for linear algebra and warnings are the process's."""
    threads = max(client.nthreads().values(), default=1)
    if threads > 1:
        raise ValueError(
            f"a worker of the Dask scheduler at {scheduler} has {threads} threads, but each fit needs "
            f"a process of its own; start every worker with `{_worker(scheduler)}`."
        )


def _worker(scheduler: str) -> str:
    return f"dask worker {scheduler} --nthreads 1"


def write_report(
    study: Study | TraceStudy,
    rows: Sequence[dict[str, Any]],
    folder: Path,
    scale: str,
    seed: int = 0,
    run: dict[str, Any] | None = None,
) -> Report | None:
    """Sum the results of a study up and save table and caption."""
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
    for name, text in (report.captions if report else {}).items():
        write_atomically(
            folder / f"{name}.md", textwrap.fill(text, 100, break_on_hyphens=False) + "\n"
        )
    return report


def read_data(study: Study, spec: FitSpec) -> Split:
    """Return the data of a fit, computed with one thread as in every worker.

    Splits are cached, and drawn data would differ in their last bits with more threads.
    """
    with threadpool_limits(1):
        return study.split(spec)


def evaluate(spec: FitSpec, study: Study, constants: Constants | None = None) -> Fit:
    """Make one fit and measure it."""
    constants = spec.parameters if constants is None else constants
    row = first_columns(spec, constants)
    with _quietly():
        start, cpu_start = time.perf_counter(), time.thread_time()
        try:
            row["settings"] = _settings(spec, study, constants)
            if spec.after and constants == spec.parameters:
                raise ValueError(f"no constants were chosen by {spec.after}.")
            data = study.split(spec)
            model = build_model(spec, study, constants)
            start, cpu_start = time.perf_counter(), time.thread_time()
            model.fit(data.X_train, data.y_train)
            seconds, cpu_seconds = time.perf_counter() - start, time.thread_time() - cpu_start
            row.update(_measure(model, data))
            if study.measure is not None:
                row.update(study.measure(spec, model))
        except Exception as error:
            row["failure"] = _failure(error)
            seconds, cpu_seconds = time.perf_counter() - start, time.thread_time() - cpu_start
    return row, seconds, cpu_seconds


def _failure(error: Exception) -> str:
    """Return what went wrong, and where in this package."""
    frames = traceback.extract_tb(error.__traceback__)
    inside = [frame for frame in frames if Path(frame.filename).is_relative_to(_PACKAGE)]
    place = ""
    if inside:
        file = Path(inside[-1].filename).relative_to(_PACKAGE.parent).as_posix()
        place = f" ({file}:{inside[-1].lineno})"
    return f"{type(error).__name__}: {error}{place}"


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    """Work without warnings of early ends, as the gap stands in the table, and with one thread."""
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def label_error(predicted: Iterable[Any], true: Iterable[Any]) -> float:
    """Return the share of nodes whose label is wrong."""
    pairs = [
        (a, b)
        for one, other in zip(predicted, true, strict=True)
        for a, b in zip(one, other, strict=True)
    ]
    return sum(a != b for a, b in pairs) / len(pairs)


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
