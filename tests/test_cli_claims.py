"""The command that says which claims hold."""

from __future__ import annotations

import pytest

from medn_edu.cli import main
from medn_edu.experiments.claims import CLAIMS


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
    assert main(["claims", "asp", "medn-7-a", "asp-5-a"]) == 0
    heads = [line for line in capsys.readouterr().out.splitlines() if line in CLAIMS]
    assert heads == [*(name for name in CLAIMS if name.startswith("asp")), "medn-7-a"]


def test_the_ledger_is_written(tmp_path, capsys):
    file = tmp_path / "claims.md"
    assert main(["claims", "--write", str(file)]) == 0
    text = file.read_text(encoding="utf-8")
    assert all(f"| {name} |" in text for name in CLAIMS)
    assert str(file) in capsys.readouterr().out
    assert main(["claims", "medn-7-a", "--write", str(file)]) == 0
    assert file.read_text(encoding="utf-8") == text, "always the whole ledger"


def test_empty_results(tmp_path, capsys):
    assert main(["claims", "--results", str(tmp_path)]) == 0
    assert f"{len(CLAIMS)} not tested yet" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["medn-9"], "there is no claim 'medn-9'"),
        (["--results", "nowhere"], "there is no folder nowhere"),
        (["--write", "nowhere/claims.md"], "there is no folder nowhere"),
    ],
)
def test_mistakes(arguments, said, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert main(["claims", *arguments]) == 2
    assert said in capsys.readouterr().err
