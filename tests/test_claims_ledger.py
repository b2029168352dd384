"""Claims: how entries are read, judged and told, also by the command; findings on what fails."""

import copy
import datetime
import tomllib
from dataclasses import replace

import pytest
from test_claims_rules import better, near, ocr, overfits, pair, steadier

from medn_edu import __version__
from medn_edu.cli import main
from medn_edu.studies import claims
from medn_edu.studies.claims import CLAIMS, ClaimError, entries, ledger_text, load_tables
from medn_edu.studies.claims import claim as reading
from medn_edu.studies.claims.findings import FINDINGS, check_names, finding_of, read_findings
from medn_edu.studies.claims.ledger import unfinished
from medn_edu.studies.claims.rules import MEASURES, AllOf, EitherOf, RuleError, Untested, measure
from medn_edu.studies.claims.verdicts import FAILS, HOLDS, MIXED, UNTESTED
from medn_edu.studies.claims.weights import true_weights
from medn_edu.studies.kit.stored import stored_folder
from medn_edu.studies.kit.summary import read_constants
from medn_edu.studies.kit.tables import csv_text
from medn_edu.studies.ocr_overfitting import rises
from medn_edu.studies.registry import STUDIES


@pytest.fixture(scope="module")
def published():
    """The published tables, not to be changed by a test."""
    return load_tables()


@pytest.fixture(scope="module")
def judged(published):
    """All claims, judged by the published tables."""
    return entries(published)


def test_published_ledger_is_that_of_the_published_tables(judged):
    """Where it is not: medn-edu claims --write figures/claims.md."""
    page = (stored_folder() / "claims.md").read_text(encoding="utf-8")
    text = ledger_text(judged, datetime.date(2030, 1, 2))
    assert text.rpartition("Made by ")[0] == page.rpartition("Made by ")[0]
    assert text.endswith(f" --write figures/claims.md`, medn_edu {__version__}, 2030-01-02.\n")
    assert "{" not in text
    assert "Changed after" not in ledger_text(entries({}, ["asp-5-a"]))


def test_claims_measures_and_units_are_there_for_something(judged):
    assert len({(each.paper, each.section, each.text) for each in CLAIMS.values()}) == len(CLAIMS)
    for entry in judged:
        has_rules = not any(isinstance(some, Untested) for _, some in entry.claim.parts)
        assert has_rules == (entry.verdict.status != UNTESTED), entry.claim.id
    assert {each.unit for each in MEASURES.values()} == set(reading.UNITS), "each is explained"
    assert set(tomllib.loads(reading.read_text("measures.toml"))) == set(MEASURES)
    with pytest.raises(RuleError, match=r"there are two measures 'gain'"):
        measure("gain")(max)
    with pytest.raises(RuleError, match=r"measures.toml, 'loss': expected text, of and unit"):
        measure("loss")


def test_words_that_cannot_be_filled_name_their_entry(published, monkeypatch):
    monkeypatch.setitem(MEASURES, "error", replace(MEASURES["error"], text="{bettter} errs less"))
    with pytest.raises(RuleError, match=r"measures.toml, 'error': there is no 'bettter'"):
        better("M3N", "CRF").text()
    claim_id = next(each for each in FINDINGS if finding_of(each, published))
    spoilt = replace(
        FINDINGS[claim_id], text="{one:q}", given={**FINDINGS[claim_id].given, "one": 1}
    )
    monkeypatch.setitem(FINDINGS, claim_id, spoilt)
    with pytest.raises(ClaimError, match=f"finding on {claim_id}: Unknown format code 'q'"):
        finding_of(claim_id, published)


def test_over_fitting_is_that_of_the_studys_table(published):
    rows = published["ocr-overfitting"]
    for line in rises(rows):
        here = [r for r in rows if r["model"] == line["model"]
                and dict(read_constants(r["parameters"])).get("lam") == line["lam"]]  # fmt: skip
        effect = overfits(line["model"]).decide(here).effect
        assert effect == pytest.approx(100 * line["rise"], abs=1e-9)


ENTRY = """
[claims."medn-7-b"]
text = "M3N errs much less than CRF"
page = 12
study = "synthetic-iid"
rule = { measure = "error", better = "M3N", worse = "CRF", above = "much" }
"""


def read(text):
    known = {"papers": reading.PAPERS, "names": reading.NAMES, "coming": reading.COMING}
    return reading.read_claims(tomllib.loads(text)["claims"], **known)


def test_an_entry_is_a_claim_and_mistakes_in_it_name_it():
    [claim] = read(ENTRY).values()
    assert claim.rule == better("M3N", "CRF", above=2)
    assert (claim.id, claim.paper, claim.section, claim.page) == ("medn-7-b", "medn", "7", 12)
    for old, new, said in (
        ("page", "pages", "there is no field 'pages'; fields are text, study"),
        ("page = 12", 'page = "12"', "page is no whole number"),
        ("study =", "caveat =", "study is missing"),
        ("medn-7-b", "medn-7", "its id should be of paper, section and a letter"),
        ("medn-7-b", "memm-7-b", "there is no paper 'memm'; papers are medn"),
        ('measure = "error"', 'measure = "errors"', "there is no measure 'errors'; known are"),
        ('measure = "error", ', "", "there is no measure None; known are"),
        ("better", "best", "measure 'error' has no 'best'; it has better, worse, above"),
        (', worse = "CRF"', "", "measure 'error' needs 'worse'"),
        ('"much"', '"mach"', "above = 'mach' is neither of the right kind nor one of the names"),
        ('"much"', "true", "above = True is neither"),
        ('rule = {', 'rule = { all_of = [],', "next to all_of a rule has nothing else"),
        ("rule", 'untested = "nobody asks."\nrule', "it needs either a rule or untested"),
        ('"error", better = "M3N", worse', '"gain", better = "M3N", where = "far", worse',
         "measure 'gain' has no 'above'"),
        ('"error", better = "M3N", worse = "CRF", above = "much"',
         '"gain", better = "M3N", where = "far", worse = "CRF"', "where = 'far' is none of few"),
        ('"error", better = "M3N", worse = "CRF", above = "much"',
         '"rise along training", models = "CRF"', "measure 'rise along training' needs a bound"),
        ("synthetic-iid", "web-extraction", "the study web-extraction is still to come, so there is no"),
    ):  # fmt: skip
        with pytest.raises(ClaimError, match="claim me") as error:
            read(ENTRY.replace(old, new))
        assert said in str(error.value)
    for old, new, said in (
        ("synthetic-iid", "synthetic", "there is no study 'synthetic'"),
        ('"M3N"', '"M4N"', "study synthetic-iid trains no model 'M4N'"),
    ):
        with pytest.raises(ClaimError, match=f"claim medn-7-b: {said}"):
            reading.check_studies(read(ENTRY.replace(old, new)))
    with pytest.raises(ClaimError, match="there is no part 'claim'; parts are claims"):
        reading.read_toml(ENTRY.replace("[claims", "[claim"), "claims")
    with pytest.raises(tomllib.TOMLDecodeError):
        read(ENTRY + ENTRY)  # an id that is there already


def test_rules_at_the_optimum():
    both = AllOf((better("LapMEDN sub-gradient", ("M3N sub-gradient", "CRF")), near("CRF", 1, 1)))
    correlated = reading.at_optimum(both, "synthetic-correlated")
    assert correlated.rules == (better("LapMEDN", ("M3N", "CRF")), both.rules[1])
    same = better("LapMEDN at its optimum", ("M3N at its optimum", "CRF"))
    assert reading.at_optimum(both, "ocr").rules == (same, both.rules[1])
    names = ("L1-M3N EM", "L1-M3N online sub-gradient")
    either = EitherOf(tuple(steadier(name, "L1-CRF") for name in names))
    assert reading.at_optimum(either, "sensitivity") == EitherOf((steadier("L1-M3N", "L1-CRF"),))


def test_the_note_tells_of_the_optimum_and_whether_constants_differ():
    early = ("LapMEDN sub-gradient", "M3N sub-gradient", "L1-M3N EM")
    exact = ("LapMEDN at its optimum", "M3N at its optimum", "L1-M3N")
    rows = ocr({name: 20 + 2 * k for k, name in enumerate([*early, *exact])})

    def note(rows, *models):
        claim = claims.Claim("medn-7-z", "text", "ocr", better(models[0], models[1:]))
        return claims.judge(claim, {"ocr": rows}).note

    assert "; trained to the optimum: holds, " in note(rows, *early[:2])
    different = "; trained to the optimum (L1-M3N with chosen constants): "
    assert f"{different}holds, " in note(rows, *early)
    worse = ocr({"M3N": 20, "L1-M3N EM": 21, "L1-M3N": 18})
    assert f"{different}{FAILS}, -" in note(worse, "M3N", "L1-M3N EM")
    assert "optimum" not in note([row for row in rows if row["model"] in early], *early)


def test_a_claim_of_several_studies_must_hold_in_each():
    also = (("ocr", better("L2-CRF", "CRF")),)
    claim = claims.Claim("medn-7-z", "text", "synthetic-iid", better("M3N", "CRF"), also)
    for here, there, status in ((20, 20, HOLDS), (20, 24, FAILS), (24, 20, FAILS)):
        tables = {"synthetic-iid": pair(here, 22), "ocr": ocr({"L2-CRF": there, "CRF": 22})}
        assert claims.judge(claim, tables).status == status
    only = claims.judge(claim, {"synthetic-iid": pair(20, 22)})
    assert (only.status, only.note) == (UNTESTED, "no table of ocr is stored.")


def test_findings_are_said_by_the_published_tables_and_not_without_them(published, judged):
    for claim_id in FINDINGS:
        text = finding_of(claim_id, published)
        assert text.endswith("."), claim_id
        assert "{" not in text
        assert "nan" not in text
        assert finding_of(claim_id, {}) == ""
    for entry in judged:
        assert not entry.finding or entry.verdict.status in (MIXED, FAILS)
    assert finding_of("medn-7-a", published) == "", "no finding is about it"


OTHERWISE = [
    # claim, study, model, points added to its error, data
    ("medn-7.1.1-g", "ocr", "M3N", 1, ""),
    ("medn-7.1.1-i", "synthetic-iid", "L1-M3N", -1, ""),
    ("medn-7.1.1-b", "synthetic-iid", "L1-CRF", 1, ""),
    ("medn-7.1.1-c", "priors", "Laplace", 3, ""),
    ("medn-7.1.1-j", "synthetic-iid", "LapMEDN variational", -2, ""),
    ("l1m3n-6-d", "synthetic-iid", "M3N", -2, ""),
    ("medn-7.1.2-b", "synthetic-correlated", "LapMEDN sub-gradient", 1, ""),
    ("medn-7.1.2-g", "synthetic-correlated", "M3N", 1, ""),
    ("medn-7.1.2-i", "synthetic-correlated", "L1-M3N", -3, "correlated-4-0"),
    ("medn-7.1.2-m", "synthetic-correlated", "M3N sub-gradient", 5, ""),
    ("l1m3n-5.1-n", "synthetic-correlated", "M3N", 5, ""),
    ("l1m3n-5.1-c", "synthetic-iid", "CRF", 5, ""),
    ("l1m3n-5.1-j", "ocr-overfitting", "CRF", 20, ""),
    ("medn-7.2-i", "ocr", "CRF", 9, "ocr-250"),
    ("medn-7.2-j", "ocr", "LapMEDN variational", 2, ""),
    ("medn-7.2-l", "ocr", "M3N", 2, ""),
    ("medn-7.2-n", "ocr-overfitting", "CRF preconditioned", -20, ""),
    ("medn-7.3-c", "sensitivity", "LapMEDN variational", 5, ""),
    ("lapm3n-6.3-c", "ocr", "M3N", 7, ""),
    ("l1m3n-5.2-k", "ocr", "L1-M3N EM", 5, ""),
    ("l1m3n-5.2-l", "ocr", "L1-M3N", -5, ""),
]


@pytest.mark.parametrize(("claim_id", "study", "model", "points", "data"), OTHERWISE)
def test_silent_where_tables_say_something_else(published, claim_id, study, model, points, data):
    assert finding_of(claim_id, published)
    other = {**published, study: copy.deepcopy(published[study])}
    for row in other[study]:
        if row["model"] == model and row.get("data", "").startswith(data):
            row["error"] += points / 100
            if claim_id == "medn-7.2-i":  # some folds only: the errors vary more
                row["error"] -= points / 100 * (row["fold"] % 2)
    assert finding_of(claim_id, other) == ""


def test_silent_where_weights_or_the_generating_model_are_others(published):
    rows = published["synthetic-correlated"]
    dense = next(r["weights"] for r in rows if r["model"] == "L2-CRF" and r.get("weights"))
    true = " ".join(f"{value:.5g}" for value in true_weights().ravel())
    for whose, weights, claim_ids in (
        ("L1", dense, ("medn-7.1.2-l", "medn-7.1.2-n")),
        ("", true, ("medn-7.1.2-o", "l1m3n-5.1-t")),
    ):
        other = [
            {**r, "weights": weights} if r["model"].startswith(whose) and r.get("weights") else r
            for r in rows
        ]
        for claim_id in claim_ids:
            assert finding_of(claim_id, published)
            assert finding_of(claim_id, {**published, "synthetic-correlated": other}) == ""
    chance = {"synthetic-correlated": [{"truth_error": 0.5, "truth_sequences": 0.99}]}
    assert finding_of("medn-7.1.2-q", chance) == finding_of("medn-7.1.2-r", chance) == ""


# a time that does not depend on the constant does not do so backwards either
SYMMETRIC = {"l1m3n-5.3.2-b", "l1m3n-5.3.2-d", "l1m3n-5.3.2-u"}


def test_findings_on_algorithms_are_silent_where_tables_say_something_else(published):
    reversed_times = [
        {**row, "cpu_seconds": 100 / row["cpu_seconds"], "error": 0.9 - row["error"]}
        for row in published["l1m3n-algorithms"]
    ]
    other = {"l1m3n-algorithms": reversed_times}
    still = {claim_id for claim_id in FINDINGS if finding_of(claim_id, other)}
    assert {claim_id for claim_id in still if "5.3.1" not in claim_id} <= SYMMETRIC


FINDING = """
[findings.likelihood]
claims."medn-7.1.1-g" = { study = "ocr" }
text = "{points:.1f} points {more}"
when = "points > 0.3"
numbers.points = 'gap(study, "L1-M3N", "L1-CRF")'
"""


def read_finding(text):
    found = tomllib.loads(text)["findings"]
    return read_findings(found, texts={"more": "more"}, claims=CLAIMS)


def test_mistakes_in_a_finding_name_it():
    assert list(read_finding(FINDING)) == ["medn-7.1.1-g"]
    for old, new, said in (
        ("when", "if", "there is no field 'if'; fields are claims, text, when, numbers"),
        ("when", "#", "when is missing"),
        ("7.1.1-g", "7.1.1-gg", "there is no claim 'medn-7.1.1-gg'"),
        ("{more}", "{less}", "there is no number 'less' for its place in the text"),
        ("points > 0.3", "gaps > most", "there is no quantity or number 'most'"),
        ("gap(", "gab(", "there is no quantity or number 'gab'"),
        ("(study", "(studies", "there is no quantity or number 'studies'"),
        ("> 0.3", "> >", "is no expression"),
        ("numbers.points", "numbers.gap", "a number cannot be called 'gap'"),
        ("[findings.likelihood]", FINDING.replace("likelihood", "other") + "[findings.likelihood]",
         "claim medn-7.1.1-g has another finding already"),
    ):  # fmt: skip
        with pytest.raises(ClaimError, match="finding likelihood: ") as error:
            read_finding(FINDING.replace(old, new))
        assert said in str(error.value)
    check_names(FINDINGS)
    for old, new, said in (
        ('"ocr"', '"ocrs"', "there is no study 'ocrs'"),
        ('"L1-M3N"', '"L1-M4N"', "study ocr trains no model 'L1-M4N'"),
        ("gap(study,", "fits(", "study l1m3n-algorithms trains no model 'L1-M3N'"),
        ('gap(study, "L1-M3N", "L1-CRF")', 'verdict("ocr", measure="error", better="X", worse="CRF")',
         "study ocr trains no model 'X'"),
    ):  # fmt: skip
        with pytest.raises(ClaimError, match=f"finding on medn-7.1.1-g: {said}"):
            check_names(read_finding(FINDING.replace(old, new)))


@pytest.fixture
def judged_once(published, judged, monkeypatch):
    """The command need not judge the published tables again."""
    known = {entry.claim.id: entry for entry in judged}
    monkeypatch.setattr(claims, "load_tables", lambda folder: published)

    def found(tables, ids=None, fits=None):
        return [known[name] for name in ids or known]

    monkeypatch.setattr(claims, "entries", found)


def test_the_command_lists_all_or_tells_of_some(judged_once, capsys):
    assert main(["claims"]) == 0
    text = capsys.readouterr().out
    assert text.startswith(f"{len(CLAIMS)} claims: ")
    listed = [line.split()[0] for line in text.splitlines() if line.strip()]
    assert [name for name in listed if name in CLAIMS] == list(CLAIMS)
    assert max(map(len, text.splitlines())) < 120
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


def test_the_command_writes_the_ledger_for_its_page(judged_once, judged, tmp_path, capsys):
    file, page = tmp_path / "claims.md", tmp_path / "README.md"
    for content, name, selected in (
        ("# Mine\n", "claims.md", []),  # no page of figures
        ("# Figures\n", "other.md", []),  # it does not link to that
        ("# Figures\n", "claims.md", ["medn-7-a"]),  # always the whole ledger
    ):
        page.write_text(content)
        assert main(["claims", *selected, "--write", str(tmp_path / name)]) == 0
        assert (tmp_path / name).read_text(encoding="utf-8") == ledger_text(judged)
        assert (page.read_text() == content) == (not selected)
    assert str(file) in capsys.readouterr().out
    assert "(claims.md)" in page.read_text()


def test_results_of_ones_own_which_may_lack_fits(tmp_path, capsys):
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
    times = csv_text([{"key": rows[1]["key"], "seconds": 2}], ["key", "seconds"])
    (folder / "timings.csv").write_text(times)
    tables = load_tables(tmp_path)
    assert list(tables) == ["ocr"]
    assert [row["key"] for row in tables["ocr"] if row.get("seconds") == 2] == [rows[1]["key"]]
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
    for damage in ("a,b\n1\n", "model\nM3N\n", "key,error\n0000,abc\n"):
        (folder / "results.csv").write_text(damage)
        with pytest.raises(ValueError, match=r"results\.csv is damaged: line \d"):
            load_tables(tmp_path)
