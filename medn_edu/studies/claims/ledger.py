"""The ledger: questions with answers, and every claim with its verdicts."""

import datetime
import textwrap
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from medn_edu import __version__
from medn_edu.studies.claims.caveats import CAVEATS, Caveat
from medn_edu.studies.claims.claim import (
    AS_RUN,
    CLAIMS,
    FROZEN,
    LATER,
    MARGINS,
    PAPERS,
    QUESTIONS,
    SEEN,
    Claim,
    read_text,
)
from medn_edu.studies.claims.findings import LOOKED_AT, answer_to, finding_of
from medn_edu.studies.claims.judging import Judgement, Tables, counted, judge
from medn_edu.studies.claims.quantities import Quantities
from medn_edu.studies.claims.rules import listed
from medn_edu.studies.claims.verdicts import DEPENDS, FAILS, MISSING, NOT_RUN
from medn_edu.studies.kit.results import RANGES
from medn_edu.studies.kit.stored import stored_rows
from medn_edu.studies.kit.summary import Table
from medn_edu.studies.kit.tables import read_csv

TITLES = {"printed": "as printed", "optimum": "at the optimum", "fair": "fair"}
"""What readings are called, in the order of the page's columns."""


@dataclass(frozen=True)
class Entry:
    """A line of the ledger."""

    claim: Claim
    judgement: Judgement
    finding: str = ""  # what is known of the reasons
    caveats: tuple[Caveat, ...] = ()  # what we had to choose
    fits: Mapping[str, str] = field(default_factory=dict)

    @property
    def study(self) -> str:
        """Names of the studies, with the number of fits where some are missing."""
        return "; ".join(
            f"{name}, {self.fits[name]}" if name in self.fits else name
            for name in self.claim.studies
        )


@dataclass(frozen=True)
class Ledger:
    """All claims, judged, and the answers that they give."""

    entries: Mapping[str, Entry]  # by name of the claim
    answers: Mapping[str, str]  # by name of the question
    studies: Collection[str] = ()  # that have a table


# -- making it ------------------------------------------------------------------------------------


def load_tables(results: Path | None = None) -> dict[str, list[dict[str, Any]]]:
    """Read the tables of all studies that claims are about, or that sentences look at."""
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
    return sorted({study for claim in CLAIMS.values() for study, _ in claim.parts})


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


def make_ledger(tables: Tables, fits: Mapping[str, str] | None = None) -> Ledger:
    """Judge all claims, and answer the questions."""
    judged = judge(CLAIMS, tables)
    quantities = Quantities(tables, judged)
    found = {}
    for name, claim in CLAIMS.items():
        finding = finding_of(name, quantities)
        found[name] = Entry(claim, judged[name], finding, CAVEATS[name], fits or {})
    answers = {name: answer_to(name, quantities) for name in QUESTIONS}
    return Ledger(found, answers, frozenset(tables))


# -- for a console --------------------------------------------------------------------------------


def overview(ledger: Ledger) -> str:
    """Return the verdicts as a table for a console."""
    found = list(ledger.entries.values())
    head = ["claim", "verdict", "robust?", "effect", "study"]
    return f"{_counts(found)}\n\n{Table(head, [_line(entry) for entry in found]).text()}"


def _line(entry: Entry) -> list[str]:
    study, *others = entry.study.split("; ")
    shown = entry.judgement.shown
    return [
        entry.claim.name, shown.status, entry.judgement.robust, shown.numbers or "–",
        study + (" …" if others else ""),
    ]  # fmt: skip


def _counts(found: Sequence[Entry]) -> str:
    n_sentences = sum(len(entry.claim.said) for entry in found)
    verdicts = counted(entry.judgement for entry in found)
    return f"{len(found)} claims, of {n_sentences} sentences: {verdicts}."


def details(entry: Entry) -> str:
    """Return all that is known of a claim, for a console."""
    claim = entry.claim
    parts = [("claim", claim.text), ("question", QUESTIONS[claim.question]["text"])]
    for sentence, place in claim.said.items():
        paper, section, _ = sentence.split("-")
        where = f"section {section}" + f", paragraph {place}" * bool(place)
        parts.append(("said in", f"{sentence}: {PAPERS[paper]}, {where}"))
    if claim.parts:
        parts += [("study", entry.study), ("rule", claim.rule_text)]
    parts += [("our choice", f"{each.name}: {each.text}") for each in entry.caveats]
    for reading, verdict in entry.judgement.readings.items():
        if reading in entry.judgement.same:
            other = _as(entry.judgement.same[reading])
            parts.append((TITLES[reading], f"{other}, by the same fits"))
            continue
        decided = f"decided by {verdict.pair}" if verdict.pair else ""
        text = "; ".join(filter(None, (verdict.line, decided, verdict.note)))
        parts.append((TITLES.get(reading, reading), text))
    if entry.judgement.untested is not None:
        parts.append(("verdict", f"{entry.judgement.shown.status}: {entry.judgement.shown.note}"))
    parts += [("robust?", entry.judgement.robust), ("finding", entry.finding)]
    lines = [
        textwrap.fill(text, 96, initial_indent=f"  {name:<15}", subsequent_indent=" " * 17)
        for name, text in parts
        if text
    ]
    return "\n".join([claim.name, *lines])


# -- its page -------------------------------------------------------------------------------------


def ledger_text(ledger: Ledger, date: datetime.date | None = None) -> str:
    """Return the ledger in Markdown."""
    date = datetime.date.today() if date is None else date
    found = list(ledger.entries.values())
    sections = (_section(number, name, ledger) for number, name in enumerate(QUESTIONS, 1))
    return read_text("ledger.md").format(
        counts=_counts(found),
        answers=_answers(ledger),
        choices=_choices(ledger),
        claims="\n".join(filter(None, [*sections, *_lists(found)])),
        words=Table(["words", "meaning"], [list(pair) for pair in MARGINS.items()]).markdown(),
        frozen=_frozen(),
        made=f"Made by `medn-edu claims --write figures/claims.md`, medn_edu {__version__}, "
        f"{date.isoformat()}.",
    )


def _choices(ledger: Ledger) -> str:
    """List what had to be chosen, but for what stands below the claims on a single question."""
    return "".join(map(_choice, _common(ledger)))


def _choice(caveat: Caveat) -> str:
    return f"- **[{caveat.mark}] {caveat.name}**: {caveat.text}\n"


def _frozen() -> str:
    """Say when the rules were fixed."""
    if not FROZEN:
        return "The rules are not frozen yet."
    tables = listed(_quoted(SEEN))
    seen = f"after the tables of {tables} were made, and " * bool(SEEN)
    text = (
        f"Commit `{FROZEN}` froze the rules, {seen}before those of all other studies had been seen."
    )
    for name, commit in LATER.items():
        text += f"  Those of `{name}` came later: commit `{commit}` froze them, before its table."
    return text


def _quoted(studies: Iterable[str]) -> list[str]:
    return [f"`{name}`" for name in studies]


def _answers(ledger: Ledger) -> str:
    rows = []
    for number, (name, question) in enumerate(QUESTIONS.items(), 1):
        answer = " ".join(ledger.answers[name].split()) or _open(_about(name, ledger), ledger)
        rows.append([str(number), question["text"], answer])
    return Table(["", "question", "answer"], rows).markdown()


def _open(found: Sequence[Entry], ledger: Ledger) -> str:
    """Say why a question has no answer, and what became of its claims."""
    open_ = [e for e in found if e.judgement.shown.status in (NOT_RUN, MISSING)]
    lacking = sorted({name for e in open_ for name in e.claim.studies} - {*ledger.studies})
    why = "its tables are still to be made" if not found else "its tables lack what is asked"
    if lacking:
        why = f"the tables of {listed(_quoted(lacking))} are still to be made"
    said = [f"Not known yet: {why}."] if open_ or not found else []
    if verdicts := counted(entry.judgement for entry in found if entry not in open_):
        said.append(f"Of its {'other ' * bool(said)}claims: {verdicts}.")
    return " ".join(said)


def _about(question: str, ledger: Ledger) -> list[Entry]:
    return [entry for entry in ledger.entries.values() if entry.claim.question == question]


def _section(number: int, question: str, ledger: Ledger) -> str:
    """Return the claims about a question that have a rule, notes on them, and what we had to choose."""
    found = [entry for entry in _about(question, ledger) if entry.claim.parts]
    if not found:
        return ""
    head = ["says", "claim", *TITLES.values(), "robust?", "decided by", "effect", "study"]
    table = Table(head, [_row(entry) for entry in found]).markdown()
    notes = _by_text({entry.claim.ids: _elsewhere(entry) for entry in found})
    notes += _by_text({entry.claim.ids: entry.finding for entry in found})
    common = _common(ledger)
    notes += "".join(_choice(each) for each in _chosen(found) if each not in common)
    title = f"### {number}. {QUESTIONS[question]['text']}"
    return "\n".join(filter(None, (f"{title}\n{table}", notes)))


def _chosen(found: Iterable[Entry]) -> list[Caveat]:
    """Return all that had to be chosen, in order."""
    return sorted({each for entry in found for each in entry.caveats}, key=lambda each: each.number)


def _common(ledger: Ledger) -> list[Caveat]:
    """Return what had to be chosen and concerns claims about several questions."""
    by_question = [_chosen(_about(name, ledger)) for name in QUESTIONS]
    counts = Counter(each for some in by_question for each in some)
    return [each for each in _chosen(ledger.entries.values()) if counts[each] > 1]


def _row(entry: Entry) -> list[str]:
    """Return the cells of a claim, with marks of what we had to choose."""
    claim, judgement = entry.claim, entry.judgement
    verdicts = {
        name: _as(judgement.same[name]) if name in judgement.same else verdict.status
        for name, verdict in judgement.readings.items()
    }
    if AS_RUN in verdicts:
        verdicts = {"printed": verdicts[AS_RUN]}
    shown = judgement.shown
    marks = ", ".join(each.mark for each in entry.caveats)
    return [
        ", ".join(id_ + f" ¶{place}" * bool(place) for id_, place in claim.said.items()),
        claim.text + f" [{marks}]" * bool(marks),
        *(verdicts.get(name, "–") for name in TITLES),
        judgement.robust,
        shown.pair or "–",
        ", ".join(filter(None, (shown.numbers, shown.size))) or "–",
        entry.study,
    ]


def _as(reading: str) -> str:
    """Say that the fits are those of another reading."""
    return f"as {TITLES[reading].removeprefix('as ')}"


def _elsewhere(entry: Entry) -> str:
    """Say on what a claim depends, and how far it fails in readings that the table does not show."""
    said = []
    for reading, verdict in entry.judgement.readings.items():
        title = TITLES.get(reading, TITLES["printed"]).capitalize()
        if verdict.status == DEPENDS:
            said.append(f"{title}: {verdict.note}.")
        elif verdict.status == FAILS != entry.judgement.shown.status and verdict.numbers:
            said.append(f"{title}: {verdict.numbers}, {verdict.pair}.")
    return " ".join(said)


def _lists(found: Sequence[Entry]) -> Iterable[str]:
    """Yield the claims without a rule, by the reason."""
    without = [entry for entry in found if not entry.claim.parts]
    for status in dict.fromkeys(entry.judgement.shown.status for entry in without):
        here = [entry for entry in without if entry.judgement.shown.status == status]
        said = {f"{e.claim.ids} ({e.claim.text.rstrip('.')})": e.judgement.shown.note for e in here}
        yield f"### {status.capitalize()}\n{_by_text(said)}"


def _by_text(said: Mapping[str, str]) -> str:
    """List texts, each once, after what it is about."""
    about: dict[str, list[str]] = {}
    for name, text in said.items():
        if text:
            about.setdefault(" ".join(text.split()), []).append(name)
    return "".join(f"- {'; '.join(names)}: {text}\n" for text, names in about.items())
