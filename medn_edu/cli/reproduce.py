"""``medn-edu reproduce``: the studies of the papers."""

from __future__ import annotations

import argparse
import sys
import textwrap
import time
from collections.abc import Sequence, Sized
from pathlib import Path
from typing import TYPE_CHECKING, Any

from medn_edu.cli.console import (
    CommandError,
    Progress,
    add_command,
    add_common_options,
    available_cpus,
    results_folder,
    say,
)
from medn_edu.cli.warmup import warm_with_progress
from medn_edu.files import sole_user

if TYPE_CHECKING:
    from medn_edu.studies.kit.results import ResultStore
    from medn_edu.studies.kit.specs import FitSpec, Row, Study

_ALL = "all"
_EVERY = f"  {_ALL}: all of them, in this order"


class _HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Puts the studies into the description, which are imported only if somebody asks for help."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        if "{studies}" in text:
            text = text.replace("{studies}", f"{_study_table()}\n{_EVERY}")
        return super()._fill_text(text, width, indent)


def add_parser(commands: Any) -> None:
    """Add the command to the parser."""
    parser = add_command(commands, "reproduce", run, formatter_class=_HelpFormatter)
    parser.add_argument(
        "study", nargs="*", help="names of studies, or `all` (--list shows the names)"
    )
    parser.add_argument("--list", action="store_true", help="list the studies")
    parser.add_argument(
        "--scale", choices=("quick", "paper"), default="quick",
        help="quick: enough to see the result; paper: all of it (default: quick)",
    )  # fmt: skip
    parser.add_argument(
        "--only", action="append", default=[], metavar="TEXT",
        help="run only the fits whose key contains TEXT",
    )  # fmt: skip
    again = parser.add_mutually_exclusive_group()
    again.add_argument(
        "--resume", action="store_true", help="keep finished fits and continue (the default)"
    )
    again.add_argument(
        "--force", action="store_true", help="throw earlier results away and start again"
    )
    add_common_options(
        parser, "jobs", "seed", "out", jobs="how many fits to run at a time, one process each"
    )
    parser.add_argument(
        "--backend", choices=("loky", "dask"), default="loky",
        help="run on this machine (the default) or on a Dask cluster",
    )  # fmt: skip
    parser.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="address of the Dask cluster, such as tcp://127.0.0.1:8786",
    )
    parser.add_argument(
        "--publish", type=Path, metavar="DIR",
        help="also put figures, tables and captions into this folder, with a page that shows them",
    )  # fmt: skip


def run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    if arguments.list or not arguments.study:
        return _list_studies(asked_for=arguments.list)
    if (arguments.backend == "dask") != (arguments.scheduler is not None):
        raise CommandError(
            "--backend dask and --scheduler ADDRESS belong together; `dask scheduler` prints its "
            "address."
        )
    if arguments.only and arguments.publish is not None:
        raise CommandError(
            "only whole studies are published; leave --only out, and the other fits are made, too."
        )
    asked = [_Task(study, arguments) for study in _asked_for(arguments)]
    for task in asked:
        task.check()
    if arguments.publish is not None:
        results_folder(arguments.publish, "--publish")
    codes = []
    for task in asked:
        if len(asked) > 1 and task.study.trains:
            say(f"{task.study.name}: {task.study.summary}")
        codes.append(task.run())
    return max(codes)


def _studies() -> dict[str, Study]:
    """Return all studies by name."""
    from medn_edu.studies.registry import STUDIES

    return STUDIES


def _asked_for(arguments: argparse.Namespace) -> list[Study]:
    """Return the studies that are named, each once."""
    studies = _studies()
    for name in arguments.study:
        if name not in studies and name != _ALL:
            known = ", ".join(studies)
            raise CommandError(f"there is no study named {name!r}; there are {known}.")
    names = studies if _ALL in arguments.study else dict.fromkeys(arguments.study)
    asked = [studies[name] for name in names]
    found = [study for study in asked if _chosen(study, arguments)]
    if not found:
        example = asked[0].fits(arguments.scale, arguments.seed)[0].key
        texts = " or ".join(map(repr, arguments.only))
        raise CommandError(f"no fit has {texts} in its key; an example of a key is {example}")
    return found


def _chosen(study: Study, arguments: argparse.Namespace) -> list[FitSpec]:
    """Return the fits that are asked for, and those that choose constants for them."""
    specs = study.fits(arguments.scale, arguments.seed)
    if not arguments.only:
        return list(specs)
    keys = {spec.key for spec in specs if _is_named(spec, arguments.only)}
    keys |= {s.after for s in specs if s.key in keys}
    return [spec for spec in specs if spec.key in keys]


def _is_named(spec: FitSpec, texts: Sequence[str]) -> bool:
    return any(text in spec.key for text in texts)


class _Task:
    """A study to run."""

    def __init__(self, study: Study, arguments: argparse.Namespace) -> None:
        self.study = study
        self.arguments = arguments
        self.scale, self.seed = arguments.scale, arguments.seed
        self.specs = _chosen(study, arguments)

    def check(self) -> None:
        """Say before anything is made if data are missing or better results are published."""
        from medn_edu.studies.kit.runner import read_data

        self._check_target()
        read_data(self.study, self.specs[0])

    def _check_target(self) -> None:
        """Keep what is published at paper scale, which claims and notebooks go by."""
        from medn_edu.studies.kit.gallery import paper_entry

        target = self.arguments.publish
        seed = None if target is None else paper_entry(self.study, target)
        if seed is None or (self.scale == "paper" and self.seed in (0, seed)):
            return
        raise CommandError(
            f"{target} holds {self.study.name} at paper scale with seed {seed}, which this run "
            f"({self.scale}, seed {self.seed}) must not replace; choose another folder with --publish."
        )

    def run(self) -> int:
        """Run the study; return the exit code."""
        self.folder = results_folder(results_folder(self.arguments.out) / self._folder_name())
        try:
            with sole_user(self.folder):
                return self._make_fits()
        except BlockingIOError:
            raise CommandError(
                f"another run is using {self.folder}; wait for it, or choose another folder "
                "with --out."
            ) from None

    def _folder_name(self) -> str:
        """Return the name of the study's folder; each seed has its own, with its own figure."""
        if not self.study.scaled:
            return self.study.name
        seed = f"-seed{self.seed}" if self.seed else ""
        return f"{self.study.name}-{self.scale}{seed}"

    def _vectors(self) -> bool:
        """Small figures as SVG are for papers: quick runs do without."""
        return not self.study.scaled or self.scale == "paper"

    def _make_fits(self) -> int:
        from medn_edu.studies.kit.results import ResultStore
        from medn_edu.studies.kit.runner import run_study
        from medn_edu.studies.kit.runs import read_runs

        study, specs = self.study, self.specs
        if self.arguments.force and not self.arguments.only:
            (self.folder / "runs.csv").unlink(missing_ok=True)
        read_runs(self.folder)  # a damaged log is told before any work
        store = self._open()
        undone = [spec for spec in specs if not store.is_done(spec)]
        if len(undone) < len(specs):
            done = self._are(len(specs) - len(undone), specs)
            say(f"{done} done already; use --force to start again.")
        scheduler = self.arguments.scheduler if study.trains else None
        n_jobs = None if scheduler else self.arguments.jobs or available_cpus()
        if undone and study.scaled and not scheduler:
            warm_with_progress()
        start = time.monotonic()
        try:
            with Progress(study.name, study.unit) as progress:
                run_study(
                    study, specs, store,
                    n_jobs=n_jobs or 1, scheduler=scheduler, progress=progress,
                )  # fmt: skip
        except KeyboardInterrupt:
            kept = ResultStore.open(self.folder, study)  # what is on disk, whatever was under way
            n_done = sum(kept.is_done(spec) for spec in specs)
            raise KeyboardInterrupt(
                f"{self._are(n_done, specs)} kept; give the same command to continue."
            ) from None
        finally:
            self._note_run(store, undone, n_jobs, time.monotonic() - start)
        return self._report(store)

    def _open(self) -> ResultStore:
        """Open the folder's results; those that are to be forgotten are."""
        from medn_edu.studies.kit.results import ResultStore

        force, only = self.arguments.force, self.arguments.only
        store = ResultStore.open(self.folder, self.study, force=force and not only)
        if force and only:
            store.forget(spec.key for spec in self.specs if _is_named(spec, only))
        return store

    def _note_run(
        self, store: ResultStore, undone: Sequence[FitSpec], n_jobs: int | None, spent: float
    ) -> None:
        from medn_edu.studies.kit.runs import note_run

        made = [spec for spec in undone if store.is_done(spec)]
        if made or not undone:
            trains = self.study.trains
            note_run(
                self.folder,
                n_fits=len(made),
                n_jobs=n_jobs if trains else 1,
                backend=self.arguments.backend if trains else "none",
                seconds=spent,
                cpu_seconds=sum(store.rows[spec.key][-1]["cpu_seconds"] or 0.0 for spec in made),
            )

    def _report(self, store: ResultStore) -> int:
        """Draw the figures, print the summary, and say what failed."""
        every = self.study.fits(self.scale, self.seed)
        done = [spec for spec in every if store.is_done(spec)]
        rows = store.of(done)
        last = [store.rows[spec.key][0] for spec in self.specs]
        failed = [row for row in last if row.get("failure")]
        if rows:
            self._sum_up(rows, len(done), len(every))
        for row in failed:
            say(f"{row['key']} failed: {row['failure']}", file=sys.stderr)
        if failed:
            n_all = self._count(len(self.specs))
            say(f"{len(failed)} of {n_all} failed; give the same command to try again.")
        if self.arguments.publish is not None:
            if len(done) < len(every):
                raise CommandError(
                    f"{self.study.name} can't be published yet: {len(every) - len(done)} of "
                    f"{self._count(len(every))} are missing."
                )
            self._publish(rows)
        return 1 if failed else 0

    def _sum_up(self, rows: list[Row], n_done: int, n_all: int) -> None:
        """Draw the figures and print the summary, as far as there are fits for them."""
        from medn_edu.studies.kit.gallery import TOO_FEW, draw_figures
        from medn_edu.studies.kit.runner import write_report
        from medn_edu.studies.kit.trained import plain_report

        study, folder = self.study, self.folder
        partial = n_done < n_all
        missing = draw_figures(study, rows, folder, vectors=self._vectors(), partial=partial)
        files = [f"{name}.png" for name in missing]
        try:
            text = write_report(study, rows, folder, self.scale, self.seed).text
        except TOO_FEW:
            if not partial:
                raise
            text = plain_report(study, rows).text if study.trains else ""
            files.append("table.csv")
        if not study.scaled:
            say(f"{text}  Table, figure and caption are in {folder}")
            return
        say(text)
        say()
        if study.remarks:
            say(textwrap.fill(f"Note: {study.remarks}", 96))
        if partial:
            say(f"{self._are(n_done, range(n_all))} there; figures and tables show these.")
        if files:
            why = f"more {study.unit} are needed"
            say(f"Not made: {', '.join(files)}; {why if partial else _NOTHING}.")
        what = "Tables, times, figures" if study.trains else "Tables, figure"
        say(f"{what} and caption are in {folder}")

    def _publish(self, rows: list[Row]) -> None:
        from medn_edu.studies.kit.gallery import publish
        from medn_edu.studies.kit.runs import summed_up

        target = self.arguments.publish
        publish(
            self.study, rows, self.folder, target, scale=self.scale, seed=self.seed,
            run=summed_up(self.folder, rows), studies=_studies().values(),
        )  # fmt: skip
        say(f"{self.study.name} is published in {target}")

    def _are(self, number: int, among: Sized) -> str:
        """Return, for example, ``2 of 6 fits are``."""
        return f"{number} of {self._count(len(among))} {'is' if number == 1 else 'are'}"

    def _count(self, number: int) -> str:
        return f"{number} {self.study.unit.removesuffix('s') if number == 1 else self.study.unit}"


_NOTHING = "these fits have nothing for it"


def _study_table() -> str:
    """Return a line per study: what it asks, which figures of the papers it is, how long it takes."""
    from medn_edu.studies.kit.runs import expected_time
    from medn_edu.studies.kit.summary import Table

    headers = ("study", "what it shows", "figures", "quick", "paper")
    lines = []
    for study in _studies().values():
        times = [expected_time(study.duration, scale) for scale in ("quick", "paper")]
        lines.append((study.name, study.summary, study.shows, *times))
    return Table(headers, lines, right=(3, 4)).text()


def _list_studies(*, asked_for: bool) -> int:
    say(_study_table())
    if not asked_for:
        say("Name one of them: medn-edu reproduce STUDY", file=sys.stderr)
    return 0 if asked_for else 2
