"""The ledger: every claim with its verdict, for a console and for ``figures/claims.md``."""

import datetime
import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from medn_edu import __version__
from medn_edu.studies.claims.claim import (
    CLAIMS,
    COMING,
    MARGINS,
    PAPERS,
    SEEN,
    UNITS,
    Claim,
    check_studies,
    judge,
    read_text,
)
from medn_edu.studies.claims.findings import FINDINGS, LOOKED_AT, check_names, finding_of
from medn_edu.studies.claims.rules import Untested
from medn_edu.studies.claims.verdicts import FAILS, MIXED, STATUSES, Verdict
from medn_edu.studies.kit.results import RANGES
from medn_edu.studies.kit.stored import stored_rows
from medn_edu.studies.kit.summary import Table
from medn_edu.studies.kit.tables import read_csv

Row = Mapping[str, Any]
Tables = Mapping[str, Sequence[Row]]


@dataclass(frozen=True)
class Entry:
    """A line of the ledger."""

    claim: Claim
    verdict: Verdict  # what the tables say of it
    finding: str = ""  # why it does not hold, as far as that is known
    fits: Mapping[str, str] = field(default_factory=dict)

    @property
    def study(self) -> str:
        """Names of the studies, with the number of fits where some are missing."""
        return "; ".join(
            f"{name}, {self.fits[name]}" if name in self.fits else name
            for name in self.claim.studies
        )


def load_tables(results: Path | None = None) -> dict[str, list[dict[str, Any]]]:
    """Read the tables of all studies that claims are about, or that findings look at."""
    found = {}
    for name in [*_studies(), *LOOKED_AT]:
        rows = _stored(name) if results is None else _results(_folder(results, name))
        if rows:
            found[name] = rows
    return found


def unfinished(results: Path) -> dict[str, str]:
    """Say of which studies fits are missing, so that their verdicts are those of a part."""
    from medn_edu.studies.registry import STUDIES  # which imports all models

    found = {}
    for name in _studies():
        folder = _folder(results, name)
        if not folder.is_dir():
            continue
        rows = [row for row in _read(folder / "results.csv") if not row.get("failure")]
        seed = int(rows[0].get("seed") or 0) if rows else 0
        wanted = {spec.key for spec in STUDIES[name].fits("paper", seed)}
        n_done = len(wanted & {row["key"] for row in rows})
        if n_done < len(wanted) or (folder / "journal.csv").exists():
            found[name] = f"{n_done} of {len(wanted)} fits"
    return found


def _studies() -> list[str]:
    return sorted({name for claim in CLAIMS.values() for name in claim.studies} - set(COMING))


def _folder(results: Path, study: str) -> Path:
    return results / f"{study}-paper"


def _stored(study: str) -> list[dict[str, Any]]:
    try:
        return stored_rows(study)
    except FileNotFoundError:
        return []


def _results(folder: Path) -> list[dict[str, Any]]:
    """Read the results of a run, with times."""
    rows, times = (_read(folder / f"{name}.csv") for name in ("results", "timings"))
    by_key = {row["key"]: row for row in times}
    return [{**row, **by_key.get(row["key"], {})} for row in rows]


def _read(file: Path) -> list[dict[str, Any]]:
    if not file.is_file():
        return []
    try:
        rows = read_csv(file.read_text(encoding="utf-8"), RANGES)
        if rows and "key" not in rows[0]:
            raise ValueError("line 1 lacks column key.")
        return rows
    except ValueError as error:  # UnicodeDecodeError is one, too
        raise ValueError(f"{file} is damaged: {error}") from None


def entries(
    tables: Tables, ids: Iterable[str] | None = None, fits: Mapping[str, str] | None = None
) -> list[Entry]:
    """Judge claims."""
    check_studies(CLAIMS)
    check_names(FINDINGS)
    claims = [CLAIMS[name] for name in (CLAIMS if ids is None else ids)]
    return [_entry(claim, tables, fits or {}) for claim in claims]


def _entry(claim: Claim, tables: Tables, fits: Mapping[str, str]) -> Entry:
    verdict = judge(claim, tables)
    open_question = verdict.status in (MIXED, FAILS)
    return Entry(claim, verdict, finding_of(claim.id, tables) if open_question else "", fits)


def overview(found: Sequence[Entry]) -> str:
    """Return the verdicts as a table for a console."""
    lines = [_line(entry) for entry in found]
    return f"{_counts(found)}\n\n{Table(['claim', 'verdict', 'effect', 'study'], lines).text()}"


def _line(entry: Entry) -> list[str]:
    study, *others = entry.study.split("; ")
    numbers = entry.verdict.numbers or "–"
    return [entry.claim.id, entry.verdict.status, numbers, study + (" …" if others else "")]


def _counts(found: Sequence[Entry]) -> str:
    counts = Counter(entry.verdict.status for entry in found)
    parts = [f"{counts[status]} {status}" for status in STATUSES]
    return f"{len(found)} claims: {', '.join(parts)}."


def details(entry: Entry) -> str:
    """Return all that is known of a claim, for a console."""
    claim, verdict = entry.claim, entry.verdict
    parts = {
        "paper": f"{PAPERS[claim.paper]}, section {claim.section}"
        + (f", page {claim.page}" if claim.page else ""),
        "claim": claim.text,
        "study": entry.study,
        "rule": claim.rule_text + (f" ({_SEEN})" if is_late(claim) else ""),
        "changed": claim.amended and f"after the tables were seen: {claim.amended}",
        "our data": claim.caveat,
        "verdict": ", ".join(filter(None, (verdict.status, verdict.numbers))),
        "note": verdict.note,
        "finding": entry.finding,
    }
    lines = [
        textwrap.fill(text, 96, initial_indent=f"  {name:<9}", subsequent_indent=" " * 11)
        for name, text in parts.items()
        if text
    ]
    return "\n".join([claim.id, *lines])


def is_late(claim: Claim) -> bool:
    """Say whether the rule of a claim was written when its table was there already."""
    return claim.study in SEEN and not isinstance(claim.rule, Untested)


_SEEN = "fixed when the table was there already"


def ledger_text(found: Sequence[Entry], date: datetime.date | None = None) -> str:
    """Return the ledger in Markdown."""
    date = datetime.date.today() if date is None else date
    head = read_text("ledger.md").format(
        counts=_counts(found),
        seen=" and ".join(f"`{name}`" for name in SEEN),
        margins=_items(MARGINS),
        units=_items(UNITS),
    )
    parts = ["\n\n".join(map(_wrapped, head.split("\n\n"))) + "\n"]
    for paper, title in PAPERS.items():
        of_paper = [entry for entry in found if entry.claim.paper == paper]
        if of_paper:
            parts.append(f"## {title}\n\n{_counts(of_paper)}\n")
        for section in dict.fromkeys(entry.claim.section for entry in of_paper):
            here = [entry for entry in of_paper if entry.claim.section == section]
            parts.append(f"### Section {section}\n\n{_section(here)}")
    if any(entry.claim.amended for entry in found):
        parts.append(f"## Changed after the tables were seen\n\n{_amended(found)}")
    parts.append(
        f"Made by `medn-edu claims --write figures/claims.md`, medn_edu {__version__}, "
        f"{date.isoformat()}.\n"
    )
    return "\n".join(parts)


def _items(meanings: Mapping[str, str]) -> str:
    return "\n".join(f"- {name}: {meaning}" for name, meaning in meanings.items())


def _amended(found: Sequence[Entry]) -> str:
    """List what was changed in the rules after the tables were seen."""
    return _by_text({entry.claim.id: entry.claim.amended for entry in found})


def _by_text(said: Mapping[str, str]) -> str:
    """List texts, each with the ids of the claims that it is about."""
    ids: dict[str, list[str]] = {}
    for claim_id, text in said.items():
        if text:
            ids.setdefault(text, []).append(claim_id)
    return "".join(
        _wrapped(f"- {', '.join(f'**{name}**' for name in names)}: {text}") + "\n"
        for text, names in ids.items()
    )


def _section(found: Sequence[Entry]) -> str:
    rows = [
        [
            entry.claim.id,
            entry.claim.text,
            entry.verdict.status,
            entry.verdict.numbers or "–",
            entry.study + ("*" if is_late(entry.claim) else "") + "†" * bool(entry.claim.amended),
            "–" if isinstance(entry.claim.rule, Untested) else entry.claim.rule_text,
        ]
        for entry in found
    ]
    headers = ["id", "claim", "verdict", "effect", "study", "rule"]
    table = Table(headers, rows).markdown()
    notes = [
        _wrapped(f"- **{entry.claim.id}**, {entry.verdict.status}: {_sentence(entry)}") + "\n"
        for entry in found
        if entry.verdict.status in (MIXED, FAILS) or _has_no_rule(entry.claim)
    ]
    caveats = _by_text({entry.claim.id: entry.claim.caveat for entry in found})
    differing = f"Where our data differ:\n\n{caveats}" if caveats else ""
    return "\n".join(filter(None, (table, differing, "".join(notes))))


def _sentence(entry: Entry) -> str:
    """Return the finding, or what stands behind the verdict."""
    note = entry.verdict.note.rstrip(".") or "no reason known"
    return entry.finding or f"{note}."


def _has_no_rule(claim: Claim) -> bool:
    """Say whether no study will ever decide a claim, so that the reason should stand next to it."""
    return isinstance(claim.rule, Untested) and claim.study not in COMING


def _wrapped(text: str) -> str:
    """Return a paragraph or items of a list, in lines that can be read in the source."""
    items = re.split(r"\n(?=- )", text.strip())
    return "\n".join(
        textwrap.fill(
            " ".join(item.split()),
            100,
            subsequent_indent="  " if item.startswith("- ") else "",
            break_long_words=False,
            break_on_hyphens=False,
        )
        for item in items
    )
