"""The command that says which claims hold."""

import functools

import pytest

from medn_edu.cli import main
from medn_edu.studies import claims
from medn_edu.studies.claims import CLAIMS, entries, load_tables
from medn_edu.studies.claims.ledger import unfinished
from medn_edu.studies.kit.tables import csv_text
from medn_edu.studies.registry import STUDIES


@functools.cache
def published():
    """The published tables and all claims judged by them, which takes seconds."""
    tables = load_tables()
    return tables, {entry.claim.id: entry for entry in entries(tables)}


@pytest.fixture(autouse=True)
def judged_once(monkeypatch):
    def judged(tables, ids=None, fits=None):
        known, found = published()
        if tables is not known:
            return entries(tables, ids, fits)
        return [found[name] for name in (CLAIMS if ids is None else ids)]

    monkeypatch.setattr(
        claims, "load_tables", lambda folder: load_tables(folder) if folder else published()[0]
    )
    monkeypatch.setattr(claims, "entries", judged)


def test_all_claims_are_listed(capsys):
    assert main(["claims"]) == 0
    text = capsys.readouterr().out
    assert text.startswith(f"{len(CLAIMS)} claims: ")
    listed = [line.split()[0] for line in text.splitlines() if line.strip()]
    assert [name for name in listed if name in CLAIMS] == list(CLAIMS)
    assert max(map(len, text.splitlines())) < 120


def test_one_claim_or_those_of_a_section(capsys):
    assert main(["claims", "medn-7.2-d"]) == 0
    text = capsys.readouterr().out
    for word in ("paper", "claim", "study", "rule", "verdict"):
        assert f"\n  {word} " in text
    words = " ".join(text.split())
    for part in ("MEDN (Zhu", "section 7.2", " hours", "fixed when the table was there"):
        assert part in words
    assert main(["claims", "asp", "medn-7-a", "asp-5-a"]) == 0
    heads = [line for line in capsys.readouterr().out.splitlines() if line in CLAIMS]
    assert heads == [*(name for name in CLAIMS if name.startswith("asp")), "medn-7-a"]


def test_the_ledger_is_written_and_the_page_beside_it_renewed(tmp_path, capsys):
    file, page = tmp_path / "claims.md", tmp_path / "README.md"

    def write(name, *claims):
        assert main(["claims", *claims, "--write", str(tmp_path / name)]) == 0
        return (tmp_path / name).read_text(encoding="utf-8")

    page.write_text("# Mine\n")
    text = write("claims.md")
    assert all(f"| {name} |" in text for name in CLAIMS)
    assert str(file) in capsys.readouterr().out
    assert page.read_text() == "# Mine\n", "no page of figures"
    page.write_text("# Figures\n")
    assert write("other.md") == text
    assert page.read_text() == "# Figures\n", "it does not link to that"
    assert write("claims.md", "medn-7-a") == text, "always the whole ledger"
    assert "(claims.md)" in page.read_text()


def test_results_that_lack_fits(tmp_path, capsys):
    folder = tmp_path / "ocr-paper"
    folder.mkdir()
    specs = STUDIES["ocr"].fits("paper", 0)
    drawn = [spec for spec in specs if spec.data.startswith("ocr-1")]
    rows = [
        {"key": spec.key, "data": spec.data, "fold": spec.fold, "model": spec.model, "seed": 0,
         "error": 0.2, "failure": "died" if number == 0 else None}
        for number, spec in enumerate(drawn)
    ]  # fmt: skip
    (folder / "results.csv").write_text(csv_text(rows, rows[0]))
    ledger = tmp_path / "claims.md"
    assert main(["claims", "--results", str(tmp_path), "--write", str(ledger)]) == 0
    said = f"ocr, {len(drawn) - 1} of {len(specs)} fits"
    text = capsys.readouterr().out
    assert f"  {said}\n" in text
    assert max(map(len, text.splitlines())) < 130
    assert f"| {said} |" in ledger.read_text(encoding="utf-8")
    whole = [{**rows[1], "key": spec.key} for spec in specs]
    (folder / "results.csv").write_text(csv_text(whole, rows[0]))
    assert unfinished(tmp_path) == {}
    (folder / "journal.csv").write_text("key\n")
    assert unfinished(tmp_path) == {"ocr": f"{len(specs)} of {len(specs)} fits"}
