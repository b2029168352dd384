"""Publishing: a study's figures, tables and caption in one folder, with a page that shows them all.

============================  ====================================================================
``STUDY.png``, ``.svg``       the figure; as vectors where these are small
``STUDY-NAME.png``, ``.svg``  further figures, with a caption of their own in ``STUDY-NAME.md``
``STUDY.csv``                 what is drawn: for fits the raw rows, in `PUBLISHED` and the columns that
                              the study has measured
``STUDY-times.csv``           how long each fit took, line by line, as times differ from run to run
``STUDY-summary.csv``         the study's own summary, where it makes one
``STUDY.md``                  caption, with the command that made it all
``STUDY.gif``, ``.mp4``       the figure in motion, where there is one; the page shows it, and
                              ``python -m medn_edu.course.animations`` makes it, not publishing
``runs.csv``                  how long each study took
``README.md``                 the page
============================  ====================================================================

`medn_edu.studies.kit.stored` reads the tables.
"""

import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from medn_edu.explorers.kit.picture import small_png
from medn_edu.files import write_atomically
from medn_edu.studies.kit.runs import RUN_COLUMNS, command, duration_text, expected_time
from medn_edu.studies.kit.specs import TIMES as TIME_COLUMNS
from medn_edu.studies.kit.specs import Study
from medn_edu.studies.kit.stored import RUNS, TIMES
from medn_edu.studies.kit.summary import Table
from medn_edu.studies.kit.tables import csv_text, read_csv

PUBLISHED = (
    "data", "fold", "model", "parameters", "chosen", "n_train", "n_test", "error", "train_error",
    "n_weights", "n_nonzero", "n_large", "n_support", "relative_gap",
)  # fmt: skip
"""Columns of the results that are published."""

COMPARISONS = (
    "synthetic-iid", "synthetic-correlated", "ocr", "ocr-full", "ocr-overfitting", "sensitivity",
    "priors", "border", "exact-vs-variational", "shape-strength", "chorales",
)  # fmt: skip
"""The studies that compare models under the fair protocol, whose times are summed up."""

TOO_FEW = (ArithmeticError, AttributeError, LookupError, StopIteration, TypeError, ValueError)
"""What drawing or summing up raises where part of the fits is too little to go by."""

_LOG_COLUMNS = ("study", "scale", "seed", *RUN_COLUMNS)
_LARGEST_SVG = 150_000  # bytes
_SHORT = 6  # digits of published numbers
_SUFFIXES = (".png", ".svg")
_SCALES = ("quick", "paper")


def draw_figures(
    study: Study,
    rows: Sequence[dict[str, Any]],
    folder: Path,
    *,
    vectors: bool = False,
    partial: bool = False,
) -> list[str]:
    """Draw all figures of a study, in place of those of earlier rows."""
    suffixes = _SUFFIXES if vectors else _SUFFIXES[:1]
    missing = []
    for name, draw in study.figures.items():
        for suffix in _SUFFIXES:
            (folder / f"{name}{suffix}").unlink(missing_ok=True)
        for suffix in suffixes:
            try:
                draw(rows, folder / f"{name}{suffix}")
            except TOO_FEW:
                if not partial:
                    raise
        if not (folder / f"{name}.png").exists():
            missing.append(name)
        vector_file = folder / f"{name}.svg"
        if vector_file.exists() and vector_file.stat().st_size >= _LARGEST_SVG:
            vector_file.unlink()
    return missing


def paper_entry(study: Study, target: Path) -> int | None:
    """Say whether a folder holds what a study has made at paper scale."""
    if not study.scaled:
        return None
    for entry in _read_log(target):
        if entry["study"] == study.name:
            return entry["seed"] if entry["scale"] == "paper" else None
    return 0 if (target / f"{study.name}.csv").exists() else None  # from before there was a log


def publish(
    study: Study,
    rows: Sequence[Mapping[str, Any]],
    source: Path,
    target: Path,
    *,
    scale: str,
    seed: int,
    run: Mapping[str, Any],
    studies: Iterable[Study],
) -> None:
    """Put a study's figures, tables and caption into a folder, and renew its page."""
    for name in study.figures:
        for suffix in _SUFFIXES:
            _copy(source / f"{name}{suffix}", target / f"{_stem(study, name)}{suffix}")
    for name in study.more_figures:
        _copy(source / f"{name}.md", target / f"{_stem(study, name)}.md")
    _copy(source / "caption.md", target / f"{study.name}.md")
    if study.trains:
        _publish_fits(study, rows, target)
        _copy(source / "table.csv", target / f"{study.name}-summary.csv")
    else:
        write_atomically(target / f"{study.name}.csv", csv_text(rows, study.columns))
    if study.scaled:  # formulas take no time
        fits = run["fits"] if study.trains else 0
        _note(target, {"study": study.name, "scale": scale, "seed": seed, **run, "fits": fits})
    write_page(target, studies)


def write_page(target: Path, studies: Iterable[Study]) -> Path:
    """Write the page of all figures in a folder."""
    shown = [study for study in studies if (target / f"{study.name}.png").exists()]
    pages = {
        "studies.md": _STUDIES, "measured.md": _MEASURED, "claims.md": _CLAIMS, "how-to-add.md": _HOW_TO,
    }  # fmt: skip
    linked = [text for file, text in pages.items() if (target / file).exists()]
    parts = [_HEAD, *linked, *(_section(study, target) for study in shown), _times(target)]
    if (target / "lattice.gif").exists():
        parts.insert(-1, _LATTICE)
    return write_atomically(target / "README.md", "\n".join(part for part in parts if part))


_HEAD = """\
# Figures

Each study has its figures here, the table behind them, a caption that says what came out, and the
command that makes them again at paper scale.  With `--publish figures` at its end, the command puts
the new ones in place of these. `medn-edu reproduce --list` names all studies. The moving pictures
are made by `python -m medn_edu.course.animations figures`, each as a GIF and as a film.
"""

_STUDIES = """\
[What each study asks](studies.md)
"""

_MEASURED = """\
[How fast the models are, and how often they err](measured.md)
"""

_CLAIMS = """\
[What the papers claim, and what comes out here](claims.md), judged by these tables
"""

_HOW_TO = """\
[How to add a study, a claim, an explorer, an exercise](how-to-add.md)
"""

_LATTICE = """\
## Lattice

![The best labelling of a word is a path through a lattice; it jumps when a weight changes](lattice.gif)

The picture of the README.  [film](lattice.mp4)
"""


def _section(study: Study, target: Path) -> str:
    """Return what the page says of a study."""
    stems = [_stem(study, name) for name in study.figures]
    title = study.summary[:1].upper() + study.summary[1:]
    shown = [stem for stem in stems if (target / f"{stem}.png").exists()]
    files = {
        f"{study.name}.md": "caption",
        f"{study.name}.csv": "table",
        f"{study.name}-summary.csv": "summary",
        f"{study.name}{TIMES}.csv": "times",
        **{f"{stem}.svg": f"{stem}.svg" for stem in stems},
        f"{study.name}.mp4": "film",
    }
    links = [f"[{text}]({name})" for name, text in files.items() if (target / name).exists()]
    return "\n".join(
        [
            f"## {study.name}\n",
            f"{title}{f' ({study.shows})' if study.shows else ''}.\n",
            *(_picture(title, study, stem, target) for stem in shown),
            *_in_motion(title, study, target),
            f"{' · '.join(links)}\n",
            f"```bash\n{_commands(study)}\n```\n",
        ]
    )


def _picture(title: str, study: Study, stem: str, target: Path) -> str:
    """Return a figure with the first paragraph of its caption."""
    caption = target / f"{stem}.md"
    first = caption.read_text(encoding="utf-8").split("\n\n")[0].strip() if caption.exists() else ""
    what = title if stem == study.name else f"{title}: {stem.removeprefix(study.name + '-')}"
    return f"![{what}]({stem}.png)\n" + (f"\n{first}\n" if first else "")


def _in_motion(title: str, study: Study, target: Path) -> list[str]:
    """Return the animation of a study, if there is one."""
    shown = (target / f"{study.name}.gif").exists()
    return [f"![{title}, in motion]({study.name}.gif)\n"] if shown else []


def _commands(study: Study) -> str:
    if not study.scaled:
        return f"{command(study.name)}  # {study.duration}"
    return "\n".join(
        f"{command(study.name, scale)}  # {expected_time(study.duration, scale)}"
        for scale in _SCALES
    )


def _times(target: Path) -> str:
    """Return the table of how long the studies took."""
    log = _read_log(target)
    if not log:
        return ""
    headers = ["study", "scale", "date", "version", "fits", "jobs", "by the clock", "processor"]
    cells = [
        [
            row["study"], row["scale"], str(row["date"]), str(row["version"]),
            str(row["fits"] or "–"), str(row["jobs"] or "–"),
            *("–" if row[n] is None else duration_text(row[n]) for n in ("seconds", "cpu_seconds")),
        ]
        for row in log
    ]  # fmt: skip
    return (
        "## How long it took\n\n"
        "By the clock everything is counted, by the processor what the fits took to train.  The log\n"
        f"is [{RUNS}.csv]({RUNS}.csv).\n\n{Table(headers, cells).markdown()}\n{_together(log)}"
    )


def _together(log: Sequence[Mapping[str, Any]]) -> str:
    """Return a sentence on the processor time of the comparisons; clocks depend on what else ran."""
    found = [row for row in log if row["study"] in COMPARISONS and row["scale"] == "paper"]
    if not found:
        return ""
    which = ", ".join(f"`{row['study']}`" for row in found)
    hours = sum(row["cpu_seconds"] for row in found) / 3600
    return f"The comparisons of models, {which}: {hours:.1f} h of processor time together.\n"


def _publish_fits(study: Study, rows: Sequence[Mapping[str, Any]], target: Path) -> None:
    names = dict.fromkeys((*PUBLISHED, *study.fit.measured))
    written = [{name: _short(row.get(name)) for name in names} for row in rows]
    write_atomically(target / f"{study.name}.csv", csv_text(written, list(names)))
    columns = ("data", "fold", "model", "parameters", *TIME_COLUMNS)
    write_atomically(target / f"{study.name}{TIMES}.csv", csv_text(rows, columns))


def _short(value: Any) -> Any:
    return float(f"{value:.{_SHORT}g}") if isinstance(value, float) else value


def _stem(study: Study, name: str) -> str:
    return study.name if name == "figure" else f"{study.name}-{name}"


def _copy(source: Path, target: Path) -> None:
    """Copy a file, or remove the copy of one that is no more."""
    if source.suffix == ".png" and source.exists():
        write_atomically(target, small_png(source.read_bytes()))
    elif source.exists():
        shutil.copyfile(source, target)
    else:
        target.unlink(missing_ok=True)


def _read_log(target: Path) -> list[dict[str, Any]]:
    file = target / f"{RUNS}.csv"
    if not file.exists():
        return []
    try:
        rows = read_csv(file.read_text(encoding="utf-8"))
        if rows and "study" not in rows[0]:
            raise ValueError("line 1 lacks column study.")
        return rows
    except ValueError as error:
        raise ValueError(f"{file} is damaged: {error}") from None


def _note(target: Path, entry: Mapping[str, Any]) -> None:
    log = {row["study"]: row for row in _read_log(target)} | {entry["study"]: entry}
    lines = csv_text((log[name] for name in sorted(log)), _LOG_COLUMNS)
    write_atomically(target / f"{RUNS}.csv", lines)
