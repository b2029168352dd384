"""Running a study: every fit once, results kept at once, the same tables however it was run.

`medn_edu.studies.kit.results` keeps what is finished, so a killed run resumes where it was.

Fits are independent of each other, except that a fit with constants chosen by another fit waits for
that one.  Workers are separate processes.  With a scheduler they are those of a cluster, with one
thread each.  Everything from the data to the last measured number is computed with one thread for
linear algebra in both cases, so a fit gives the same bits whatever else is running.  A worker that
dies, perhaps because it ran out of memory, doesn't spoil other fits.  The fits that may have been
running are repeated, one at a time.  A fit that breaks its process again is recorded as failed.
"""

import contextlib
import os
import signal
import textwrap
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import joblib
from joblib.externals.loky import process_executor
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from medn_edu import __version__
from medn_edu.files import write_atomically
from medn_edu.studies.kit.results import Constants, ResultStore
from medn_edu.studies.kit.runs import origin, summed_up
from medn_edu.studies.kit.specs import FitSpec, Report, Row, Study
from medn_edu.studies.kit.summary import constants_text
from medn_edu.studies.kit.tables import csv_text
from medn_edu.studies.kit.texts import paragraphs
from medn_edu.studies.kit.trained import plain_report

Fit = list[Row]
Call = tuple[FitSpec, Study, Constants]

_PACKAGE = Path(__file__).resolve().parents[2]
PATIENCE = 10  # seconds, with a scheduler


def run_study(
    study: Study,
    specs: Sequence[FitSpec],
    store: ResultStore,
    *,
    n_jobs: int = 1,
    scheduler: str | None = None,
    progress: Callable[[int, int, str], Any] | None = None,
) -> list[Row]:
    """Make the fits of a study that are not done yet; return the rows of all that are asked for."""
    if store.study is not study:
        raise ValueError(f"the store does not know {study.name}; open it with the study.")
    if not study.trains:
        n_jobs, scheduler = 1, None
    tell = progress or (lambda n_done, n_all, what: None)
    first = [spec for spec in specs if not spec.after]
    second = [spec for spec in specs if spec.after]  # whose constants others choose
    undone = [spec for spec in second if not store.is_done(spec)]
    try:
        for group, later in ((first, undone), (second, [])):
            waiting = [spec for spec in group if not store.is_done(spec)]
            n_done = len(specs) - len(waiting) - len(later)
            names = [] if study.trains else [spec.model for spec in waiting]  # one by one
            if group is first:
                tell(n_done, len(specs), names[0] if names else "")
            if not waiting:
                continue
            read_data(study, waiting[0])  # before workers start; fails early without
            with contextlib.closing(_fits(study, waiting, store, n_jobs, scheduler)) as fits:
                for number, fit in enumerate(fits, start=1):
                    store.add(fit)
                    tell(n_done + number, len(specs), names[number] if number < len(names) else "")
    finally:
        if store.rows:
            store.write()
    return store.of(specs)


def _fits(
    study: Study, specs: Sequence[FitSpec], store: ResultStore, n_jobs: int, scheduler: str | None
) -> Generator[Fit, None, None]:
    """Make fits, yielding each when it is done."""
    calls = {spec.key: (spec, study, store.constants(spec)) for spec in specs}
    if n_jobs == 1 and scheduler is None:
        for call in calls.values():
            yield evaluate(*call)
        return
    calls = dict(reversed(calls.items()))
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
    return [{**_first_columns(spec, constants), "failure": f"WorkerError: {why}."}]


def _evaluate_in_a_worker(parent: int, spec: FitSpec, study: Study, constants: Constants) -> Fit:
    _tie_to(parent)
    return evaluate(spec, study, constants)


@cache
def _tie_to(parent: int) -> None:
    """Let this process end soon after the one that started it, and leave Ctrl-C to that.

    Data are read once and kept, which joblib takes for a leak: it would end the process, and now and
    then wait for it for ever.
    """
    process_executor._USE_PSUTIL = False

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
        client = Client(scheduler, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ConnectionError(
            f"no Dask scheduler answers at {scheduler!r} ({type(error).__name__}); expected an "
            "address such as tcp://127.0.0.1:8786, which `dask scheduler` prints."
        ) from None
    try:
        client.wait_for_workers(1, timeout=PATIENCE)
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
    study: Study, rows: Sequence[Row], folder: Path, scale: str, seed: int = 0
) -> Report:
    """Sum the results of a study up and save table and captions."""
    report = study.report(rows, scale) if study.report else plain_report(study, rows)
    if report.columns:
        write_atomically(folder / "table.csv", csv_text(report.rows, report.columns))
    made = origin(study, scale, seed, summed_up(folder, rows))
    if study.scaled:
        caption = f"{report.caption}\n{textwrap.fill(made, 100)}"
    else:
        caption = paragraphs(f"{report.caption}  {made}")
    write_atomically(folder / "caption.md", f"{caption}\n")
    for name, text in report.captions.items():
        write_atomically(folder / f"{name}.md", f"{paragraphs(text)}\n")
    return report


def read_data(study: Study, spec: FitSpec) -> None:
    """Read the data of a fit, which are kept, with one thread as in every worker.

    Drawn data would differ in their last bits with more threads.  A study that generates its data is
    skipped: nothing can be missing, and workers generate their own.
    """
    if study.trains and not study.generated:
        with threadpool_limits(1):
            study.fit.split(spec)


def evaluate(spec: FitSpec, study: Study, constants: Constants | None = None) -> Fit:
    """Make one fit and measure it; a fit that fails gives a row with the error."""
    constants = spec.parameters if constants is None else constants
    given = replace(spec, parameters=constants)
    first = _first_columns(spec, constants)
    with _quietly():
        start, cpu_start = time.perf_counter(), time.thread_time()
        try:
            first["settings"] = study.settings(given)
            if spec.after and constants == spec.parameters:
                raise ValueError(f"no constants were chosen by {spec.after}.")
            made = study.fit(given)
        except Exception as error:
            made = {"failure": _failure(error)}
        first["seconds"] = round(time.perf_counter() - start, 3)
        first["cpu_seconds"] = round(time.thread_time() - cpu_start, 3)
    return [{**first, **row} for row in ([made] if isinstance(made, dict) else made)]


def _first_columns(spec: FitSpec, constants: Constants) -> Row:
    """Return what is known of a fit before it is made."""
    return {
        "key": spec.key,
        "data": spec.data,
        "fold": spec.fold,
        "model": spec.model,
        "parameters": constants_text(constants),
        "seed": spec.seed,
        "failure": "",
        "version": __version__,
    }


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
