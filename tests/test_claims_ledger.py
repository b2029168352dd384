"""Claims: how entries are read, judged under all readings and told; questions and findings."""

import ast
import datetime
import inspect
import tomllib
from dataclasses import replace

import pytest
from test_claims_rules import better, comparable, near, ocr, overfits, pair

from medn_edu import __version__
from medn_edu.cli import main
from medn_edu.studies import claims
from medn_edu.studies.claims import CLAIMS, QUESTIONS, ClaimError, judging, ledger_text, load_tables
from medn_edu.studies.claims import claim as reading
from medn_edu.studies.claims.caveats import Caveat, read_caveats
from medn_edu.studies.claims.findings import (
    ANSWERS,
    FINDINGS,
    finding_of,
    read_answers,
    read_findings,
)
from medn_edu.studies.claims.forest import draw_forest
from medn_edu.studies.claims.ledger import Ledger, details, unfinished
from medn_edu.studies.claims.quantities import Quantities
from medn_edu.studies.claims.rules import MEASURES, RuleError, measure
from medn_edu.studies.claims.verdicts import (
    DEPENDS,
    FAILS,
    HOLDS,
    MISSING,
    MIXED,
    NOT_RUN,
    UNTESTABLE,
)
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
def ledger(published):
    """All claims, judged by the published tables."""
    return claims.make_ledger(published)


# -- what is published ----------------------------------------------------------------------------


def test_published_ledger_is_that_of_the_published_tables(ledger):
    """Where it is not: medn-edu claims --write figures/claims.md."""
    page = (stored_folder() / "claims.md").read_text(encoding="utf-8")
    text = ledger_text(ledger, datetime.date(2030, 1, 2))
    assert text.rpartition("Made by ")[0] == page.rpartition("Made by ")[0]
    assert text.endswith(f" --write figures/claims.md`, medn_edu {__version__}, 2030-01-02.\n")
    assert "{" not in text
    assert "nan" not in text.split()
    assert sum(map(bool, text.splitlines())) < 475, "a student reads it"


def test_every_claim_that_does_not_hold_somewhere_has_a_finding(ledger):
    """Where it is missing: findings.toml, with our choice that explains it, or that none does."""
    for name, entry in ledger.entries.items():
        found = entry.judgement
        verdicts = [found.readings.values(), *found.variants.values()]
        if FAILS in {verdict.status for some in verdicts for verdict in some}:
            assert entry.finding, name


def test_what_we_had_to_choose_is_told_once_and_pointed_to(ledger):
    """Before the claims, or below those on the only question that it concerns."""
    text = ledger_text(ledger)
    before, below = text.split("## The claims\n")
    caveats = {each for entry in ledger.entries.values() for each in entry.caveats}
    assert len({each.mark for each in caveats}) == len(caveats) > 20
    for each in caveats:
        about = {e.claim.question for e in ledger.entries.values() if each in e.caveats}
        told = f"- **[{each.mark}] {each.name}**: {each.text}\n"
        assert (told in before, told in below) == (len(about) > 1, len(about) == 1)
        assert text.count(told) == 1


def test_claims_measures_and_units_are_there_for_something(ledger):
    assert len({(each.text, each.question) for each in CLAIMS.values()}) == len(CLAIMS)
    asked = {each.question for each in CLAIMS.values()} | {
        each for each in ANSWERS if ANSWERS[each]
    }
    assert asked == set(QUESTIONS)
    assert {each.unit for each in MEASURES.values()} == set(reading.UNITS), "each is explained"
    assert set(tomllib.loads(reading.read_text("measures.toml"))) == set(MEASURES)
    with pytest.raises(RuleError, match=r"there are two measures 'gain'"):
        measure("gain")(max)
    with pytest.raises(RuleError, match=r"measures.toml, 'loss': expected text, of and unit"):
        measure("loss")


def written(node, given):
    """Return the texts that an argument is or holds; none if it is computed from tables."""
    try:
        found = eval(compile(ast.Expression(node), "argument", "eval"), dict(given))
    except NameError:
        return []
    return [
        text for text in (found if isinstance(found, list) else [found]) if isinstance(text, str)
    ]


def models_named(finding):
    """Yield studies, claims and models that a finding asks for, as far as they are written out."""
    quantities = Quantities({}, {}).all()
    for call in finding.calls:
        if getattr(call.func, "id", "") not in quantities:
            continue
        named = {str(word.arg): word.value for word in call.keywords}
        bound = inspect.signature(quantities[call.func.id]).bind(*call.args, **named).arguments
        bound |= bound.pop("fields", {})
        texts = {key: written(node, finding.given) for key, node in bound.items()}
        yield from (("claim", name) for name in texts.get("claim", []))
        otherwise = "l1m3n-algorithms" if "algorithm" in texts else "synthetic-correlated"
        roles = ("model", "models", "worse", "better", "first", "second", "algorithm")
        for study in texts.get("study", [otherwise]):
            yield from ((study, name) for role in roles for name in texts.get(role, []))


def test_studies_train_the_models_that_are_named():
    asked = {
        (study, model)
        for claim in CLAIMS.values()
        for study, rule in claim.parts
        for each in reading.readings_of(claim)
        for roles in reading.variants_of(study, each).values()
        for model in rule.renamed(roles).names()
    }
    sentences = [*FINDINGS.values(), *(each for some in ANSWERS.values() for each in some)]
    asked |= {named for each in sentences for named in models_named(each)}
    known = {(name, model) for name, study in STUDIES.items() for model in study.models}
    profile = "l1m3n-profile"  # its fits are timed in parts, by a function of its own
    known |= {(profile, spec.model) for spec in STUDIES[profile].fits("quick", 0)}
    known |= {("claim", name) for name in CLAIMS}
    assert asked - known == set()
    assert len(asked) > 100


def test_over_fitting_is_that_of_the_studys_table(published):
    rows = published["ocr-overfitting"]
    for line in rises(rows):
        here = [r for r in rows if r["model"] == line["model"]
                and dict(read_constants(r["parameters"])).get("lam") == line["lam"]]  # fmt: skip
        effect = overfits(line["model"]).decide(here).effect
        assert effect == pytest.approx(100 * line["rise"], abs=1e-9)


# -- entries --------------------------------------------------------------------------------------

ENTRY = """
[claims.much-worse]
said = { "medn-7-b" = 12, "l1m3n-6.1-ab" = 3 }
text = "M3N errs much less than CRF"
question = "why"
study = "synthetic-iid"
rule = { measure = "error", better = "M3N", worse = "CRF", above = "much" }
"""


def read(text):
    known = {"papers": reading.PAPERS, "names": reading.NAMES, "questions": ["why"]}
    return reading.read_claims(tomllib.loads(text)["claims"], **known)


def test_an_entry_is_a_claim_and_mistakes_in_it_name_it():
    [claim] = read(ENTRY).values()
    assert claim.parts == (("synthetic-iid", better("M3N", "CRF", above=2)),)
    assert (claim.name, claim.ids) == ("much-worse", "medn-7-b, l1m3n-6.1-ab")
    rule = ENTRY.splitlines()[-1]
    for old, new, said in (
        ("said =", "says =", "there is no field 'says'; fields are said, text"),
        ("said =", "#", 'said is missing; expected { "medn-7.1.1-a" = 3 }'),
        ("= 12", '= "12"', "the paragraph of medn-7-b is '12'; expected a whole number"),
        ("= 12", "= -1", "the paragraph of medn-7-b is -1"),
        ("medn-7-b", "medn-7", "'medn-7' is no id of paper, section and a letter"),
        ("medn-7-b", "memm-7-b", "'memm-7-b' is no id of paper, section and a letter, such as "
         "medn-7.1.1-a; papers are medn"),
        ('"why"', '"how"', "there is no question 'how'"),
        ('question = "why"', "", "question is missing"),
        ('study = "synthetic-iid"', "", "it needs both study and rule, or neither"),
        ('measure = "error"', 'measure = "errors"', "there is no measure 'errors'; known are"),
        ('measure = "error", ', "", "there is no measure None; known are"),
        ("better", "best", "measure 'error' has no 'best'; it has better, worse, above"),
        (', worse = "CRF"', "", "measure 'error' needs 'worse'"),
        ('"much"', '"mach"', "above = 'mach' is neither of the right kind nor one of the names"),
        ('"much"', "true", "above = True is neither"),
        ("rule = {", "rule = { all_of = [],", "next to all_of a rule has nothing else"),
        (rule, "", "it needs one of rule, untestable (why) and missing (a study)"),
        (rule, 'untestable = "nobody asks."\n' + rule, "it needs one of rule, untestable"),
        (rule, 'missing = "web-extraction"', "it needs both study and rule, or neither"),
        (rule, 'rule = { measure = "gain", better = "M3N", where = "far", worse = "CRF", above = 1 }',
         "measure 'gain' has no 'above'"),
        (rule, 'rule = { measure = "gain", better = "M3N", where = "far", worse = "CRF" }',
         "where = 'far' is none of few"),
        (rule, 'rule = { measure = "rise along training", models = "CRF" }',
         "measure 'rise along training' needs a bound"),
        ("[claims.much", ENTRY.replace("much-worse", "other") + "[claims.much",
         "medn-7-b is said by other already"),
    ):  # fmt: skip
        with pytest.raises(ClaimError, match="claim much-worse: ") as error:
            read(ENTRY.replace(old, new))
        assert said in str(error.value), new
    with pytest.raises(ClaimError, match="there is no part 'claim'; parts are claims"):
        reading.read_toml(ENTRY.replace("[claims", "[claim"), "claims")


def test_readings_are_known_and_have_variants():
    read = reading.read_readings({"ocr": {"printed": {"a": {}}, "fair": {"b": {"M3N": "CRF"}}}})
    assert list(read["ocr"]) == ["fair", "printed"], "the one first that is shown"
    shared = {"*": {"M3N": "CRF"}, "a": {}, "b": {"M3N": "L2-CRF"}}
    read = reading.read_readings({"ocr": {"fair": shared}})
    assert read["ocr"]["fair"] == {"a": {"M3N": "CRF"}, "b": {"M3N": "L2-CRF"}}
    for wrong, said in (
        ({"best": {"a": {}}}, "readings.ocr.best: there are readings fair, optimum and printed"),
        ({"fair": {}}, 'readings.ocr.fair: expected variants by name, such as "exact" = {}'),
        ({"fair": {"M3N": "CRF"}}, "readings.ocr.fair: expected variants by name"),
        ({"fair": {"*": {"M3N": "CRF"}}}, "readings.ocr.fair: expected variants by name"),
    ):
        with pytest.raises(ClaimError) as error:
            reading.read_readings({"ocr": wrong})
        assert said in str(error.value)


# -- judging --------------------------------------------------------------------------------------


def a_claim(*parts, **fields):
    return claims.Claim("name", {"medn-7-z": 1}, "text", next(iter(QUESTIONS)), parts, **fields)


@pytest.fixture
def readings(monkeypatch):
    """Two printed variants and a fair one for OCR; the other studies have one reading."""
    variants = {
        "fair": {"exact": {}},
        "printed": {"early": {"M3N": "M3N early"}, "late": {"M3N": "M3N late"}},
    }
    monkeypatch.setattr(reading, "ROLES", {"ocr": variants})
    monkeypatch.setattr(judging, "ROLES", {"ocr": variants})


def judge(claim, tables):
    return claims.judge({"name": claim}, tables)["name"]


def test_verdicts_of_readings_and_whether_they_agree(readings):
    claim = a_claim(("ocr", better("M3N", "CRF")))
    levels = {"CRF": 22, "M3N": 20, "M3N early": 21, "M3N late": 21}
    for changed, fair, printed, robust in (
        ({}, HOLDS, HOLDS, "yes"),
        ({"M3N early": 24}, HOLDS, DEPENDS, "no"),
        ({"M3N early": 24, "M3N late": 24}, HOLDS, FAILS, "no"),
        ({"M3N early": None}, HOLDS, HOLDS, "yes"),
        ({"M3N early": None, "M3N late": None}, HOLDS, NOT_RUN, "–"),
        ({"M3N": None}, NOT_RUN, HOLDS, "–"),
    ):
        rows = ocr({name: error for name, error in {**levels, **changed}.items() if error})
        found = judge(claim, {"ocr": rows})
        assert {name: v.status for name, v in found.readings.items()} == {
            "fair": fair, "printed": printed,
        }, changed  # fmt: skip
        assert found.robust == robust
        assert found.reading == ("printed" if fair == NOT_RUN else "fair")
        assert (
            found.shown.pair == ("M3N late" if fair == NOT_RUN else "M3N") + " against CRF"
            or changed
        )
    rows = ocr({**levels, "M3N early": 24})
    note = judge(claim, {"ocr": rows}).readings["printed"].note
    assert note == "holds (late), does not hold here (early)"
    only = judge(claim, {})
    assert (only.shown.status, only.shown.note) == (NOT_RUN, "no table of ocr is stored.")


def test_readings_by_the_same_fits_are_one(readings, monkeypatch):
    claim = a_claim(("ocr", better("L2-CRF", "CRF")))
    tables = {"ocr": ocr({"L2-CRF": 20, "CRF": 22})}
    found = judge(claim, tables)
    assert found.same == {"printed": "fair"}
    assert found.robust == "–"
    assert [len(some) for some in found.variants.values()] == [1, 1], "early and late are one"
    entry = claims.Entry(claim, found)
    assert "\n  as printed     as fair, by the same fits\n" in details(entry)
    claim = a_claim(("ocr", better("M3N", "CRF")))
    assert judge(claim, {"ocr": ocr({"M3N": 20, "CRF": 22})}).same == {}
    levels = {"M3N": 20, "M3N early": 20.2, "M3N late": 20.1, "CRF": 22, "L2-CRF": 21.5}
    for others, robust in (("L2-CRF", "–"), ((), "yes")):  # whose pair decides all readings
        claim = a_claim(("ocr", better(("M3N", *filter(None, [others])), "CRF")))
        found = judge(claim, {"ocr": ocr(levels)})
        assert (found.same, found.robust) == ({}, robust)


def test_a_claim_of_several_studies_must_hold_in_each(readings):
    claim = a_claim(("synthetic-iid", better("M3N", "CRF")), ("ocr", better("L2-CRF", "CRF")))
    for here, there, status in ((20, 20, HOLDS), (20, 24, FAILS), (24, 20, FAILS)):
        tables = {"synthetic-iid": pair(here, 22), "ocr": ocr({"L2-CRF": there, "CRF": 22})}
        found = judge(claim, tables)
        assert list(found.readings) == ["fair", "printed"]
        assert found.shown.status == status
    assert judge(claim, {"synthetic-iid": pair(20, 22)}).shown.status == NOT_RUN


def test_what_has_no_rule_says_why():
    for fields, status, note in (
        ({"untestable": "nobody can."}, UNTESTABLE, "nobody can."),
        ({"missing": "web"}, MISSING, "web is still to come."),
    ):
        found = judge(a_claim(**fields), {})
        assert (found.shown.status, found.shown.note, found.robust) == (status, note, "–")


def test_a_family_is_corrected_for_its_size(readings):
    """A decision that would do alone is mixed among many, but the families of others do not count."""
    rows = ocr({"M3N": 20, "CRF": 20.09, "L2-CRF": 20.0}, noise=0.2)
    claim = better("M3N", "CRF")
    p = min(claim.decide(rows).p)
    assert 0.001 < p < 0.05
    assert claim.decide(rows).status == HOLDS
    tables = {"ocr": rows, "sensitivity": rows}
    one = {"one": a_claim(("ocr", claim))}
    many = {
        str(k): a_claim(("ocr", comparable("M3N", "L2-CRF", within=0.01 * k))) for k in range(60)
    }
    many = {name: replace(each, name=name) for name, each in {**one, **many}.items()}
    alone, among = (
        claims.judge(some, tables)[name] for some, name in ((one, "one"), (many, "one"))
    )
    assert (alone.shown.status, among.shown.status) == (HOLDS, MIXED)
    assert "alone it would be 'holds', but p = " in among.shown.note
    assert among.shown.interval == alone.shown.interval
    copies = {name: replace(one["one"], name=name) for name in map(str, range(60))}
    assert claims.judge({**copies, **one}, tables)["one"].shown.status == HOLDS, "one decision"
    elsewhere = {n: replace(c, parts=(("sensitivity", c.parts[0][1]),)) for n, c in many.items()}
    assert claims.judge({**elsewhere, **one}, tables)["one"].shown.status == HOLDS


# -- sentences ------------------------------------------------------------------------------------


def test_findings_are_said_by_the_published_tables_or_not_at_all(published, ledger):
    quantities = Quantities(
        published, {name: entry.judgement for name, entry in ledger.entries.items()}
    )
    for name in FINDINGS:
        text = finding_of(name, quantities)
        assert not text or text.endswith("."), name
        assert "{" not in text
        assert "nan" not in text.split()
        assert finding_of(name, Quantities({}, {})) == ""
    for text in ledger.answers.values():
        assert not text or text.endswith(".")
    assert not any(claims.make_ledger({}).answers.values())


FINDING = """
[findings.likelihood]
claims.much-worse = { study = "ocr" }
text = "{points:.1f} points"
when = "points > 0.3"
numbers.points = 'gap(study, "L1-M3N", "L1-CRF")'
"""
QUESTION = """
[questions.why]
text = "Why?"
[[questions.why.answers]]
text = "Because of {found.effect:.1f}."
when = 'found.status == "holds"'
numbers.found = 'judged("one")'
[[questions.why.answers]]
text = "Nobody knows."
when = "1 < 2"
"""


def read_finding(text):
    found = tomllib.loads(text)["findings"]
    return read_findings(found, claims=["much-worse"])


def test_mistakes_in_a_finding_name_it():
    assert list(read_finding(FINDING)) == ["much-worse"]
    for old, new, said in (
        ("when", "if", "there is no field 'if'; fields are claims, text, when, numbers"),
        ("when", "#", "when is missing"),
        ("much-worse", "much-better", "there is no claim 'much-better'"),
        ("{points", "{less", "there is no number 'less' for its place in the text"),
        ("points > 0.3", "gaps > most", "there is no quantity or number 'most'"),
        ("gap(", "gab(", "there is no quantity or number 'gab'"),
        ("(study", "(studies", "there is no quantity or number 'studies'"),
        ("> 0.3", "> >", "is no expression"),
        ("numbers.points", "numbers.gap", "a number cannot be called 'gap'"),
        ("[findings.likelihood]", FINDING.replace("likelihood", "other") + "[findings.likelihood]",
         "claim much-worse has another finding already"),
    ):  # fmt: skip
        with pytest.raises(ClaimError, match="finding likelihood: ") as error:
            read_finding(FINDING.replace(old, new))
        assert said in str(error.value)


def test_the_first_answer_that_the_tables_give():
    answers = read_answers(tomllib.loads(QUESTION)["questions"])["why"]
    claim = {"one": replace(a_claim(("ocr", better("M3N", "CRF"))), name="one")}
    for level, said in ((22, ["Because of 2.0.", "Nobody knows."]), (18, ["", "Nobody knows."])):
        judged = claims.judge(claim, {"ocr": ocr({"M3N": 20, "CRF": level})})
        assert [answer.say(Quantities({}, judged)) for answer in answers] == said
    assert answers[0].say(Quantities({}, claims.judge(claim, {}))) == "", "it was not run"

    def say(text):
        spoilt = read_answers(tomllib.loads(text)["questions"])
        judged = claims.judge(claim, {"ocr": ocr({"M3N": 20, "CRF": 22})})
        spoilt["why"][0].say(Quantities({}, judged))

    for old, new, said in (
        ('text = "Why?"', "", "question why: expected text, numbers and answers"),
        (
            "{found.effect:.1f}",
            "{found.effect:q}",
            "question why, answer 1: Unknown format code 'q'",
        ),
        ("when = 'f", "if = 'f", "question why, answer 1: there is no field 'if'"),
    ):
        with pytest.raises(ClaimError, match=said):
            say(QUESTION.replace(old, new))


def test_caveats_belong_to_claims_studies_or_models():
    made = {
        "one": replace(a_claim(("ocr", better("M3N", "CRF"))), name="one"),
        "two": replace(a_claim(("ocr", better("L2-CRF", "CRF"))), name="two"),
        "other": replace(a_claim(("priors", better("M3N", "CRF"))), name="other"),
    }
    for given, names in (
        ({"claims": ["one"]}, ["one"]),
        ({"studies": ["ocr"]}, ["one", "two"]),
        ({"studies": ["ocr", "priors"], "models": ["M3N"]}, ["one", "other"]),
        ({"studies": ["ocr"], "models": ["M3N"], "claims": ["two"]}, ["one", "two"]),
    ):
        found = read_caveats({"a": {"text": "Why.", **given}}, made)
        assert [name for name in made if found[name]] == names
    both = read_caveats({"a": {"text": "A.", "claims": ["one"]}, "b": {"text": "B.", "claims": ["one"]}},
                        made)["one"]  # fmt: skip
    assert both == (Caveat(0, "a", "A."), Caveat(1, "b", "B."))
    for given, said in (
        ({"text": "A.", "claim": ["one"]}, "caveat a: there is no field 'claim'; fields are text"),
        ({"claims": ["one"]}, "caveat a: text is missing"),
        ({"text": "A.", "claims": ["three"]}, "caveat a: there is no claim 'three'"),
        ({"text": "A.", "studies": ["chorales"]}, "caveat a: it is about no claim"),
    ):
        with pytest.raises(ClaimError, match=said):
            read_caveats({"a": given}, made)


def test_words_that_cannot_be_filled_name_their_entry(monkeypatch):
    monkeypatch.setitem(MEASURES, "error", replace(MEASURES["error"], text="{bettter} errs less"))
    with pytest.raises(RuleError, match=r"measures.toml, 'error': there is no 'bettter'"):
        better("M3N", "CRF").text()


# -- the page and the command ---------------------------------------------------------------------


def planted(monkeypatch):
    """A ledger of claims of each kind, whose tables are made up."""
    question = next(iter(QUESTIONS))
    monkeypatch.setattr("medn_edu.studies.claims.ledger.QUESTIONS", {question: {"text": "Why?"}})
    rows = ocr({"M3N": 20, "CRF": 22, "M3N early": 24, "M3N late": 21})
    made = {
        "lower": a_claim(("ocr", better("M3N", "CRF"))),
        "alike": a_claim(("sensitivity", comparable("CRF", "M3N"))),
        "rate": a_claim(("sensitivity", near("M3N", 20, 3))),
        "lacking": a_claim(("priors", near("M3N", 20, 3))),
        "open": a_claim(untestable="nobody can."),
        "web": a_claim(missing="web-extraction"),
    }
    made = {
        name: replace(each, name=name, said={f"medn-7-{name}": 9}) for name, each in made.items()
    }
    judged = claims.judge(made, {"ocr": rows, "sensitivity": rows})
    found = {name: claims.Entry(made[name], judged[name]) for name in made}
    found["lower"] = replace(found["lower"], caveats=(Caveat(2, "some words", "A caveat."),))
    found["alike"] = replace(
        found["alike"], finding="A finding.", fits={"sensitivity": "2 of 3 fits"}
    )
    return Ledger(found, {question: ""}, ["ocr", "sensitivity"])


def test_the_page_tells_all_kinds_apart(readings, monkeypatch, tmp_path):
    ledger = planted(monkeypatch)
    text = ledger_text(ledger)
    assert "6 claims, of 6 sentences: 2 holds, 1 does not hold here, 1 untestable" in text
    assert (
        "| 1 | Why? | Not known yet: the tables of `priors` and `web-extraction` are still to be made. "
        "Of its other claims: 2 holds, 1 does not hold here, 1 untestable. |\n" in text
    )
    lines = {line.split(" ¶9")[0]: line for line in text.splitlines() if "¶9 |" in line}
    for name, cells in (
        ("lower", "| depends | – | holds | no | M3N against CRF | +2."),
        ("alike", "| does not hold here | – | – | – | CRF against M3N | 2."),
        ("rate", "| holds | – | – | – | M3N | "),
        ("lacking", "| not run | – | – | – | – | – | priors |"),
    ):
        assert cells in lines[f"| medn-7-{name}"], name
    assert "] points apart | sensitivity, 2 of 3 fits |" in text
    assert "- medn-7-lower: As printed: holds (late), does not hold here (early).\n" in text
    assert "| text [c] |" in lines["| medn-7-lower"]
    assert "- **[c] some words**: A caveat.\n" in text
    assert "- medn-7-alike: A finding.\n" in text
    assert "### Untestable\n- medn-7-open (text): nobody can.\n" in text
    assert "### Study missing\n- medn-7-web (text): web-extraction is still to come.\n" in text
    assert "The rules are not frozen yet." in text or reading.FROZEN
    monkeypatch.setattr("medn_edu.studies.claims.ledger.FROZEN", "abc")
    monkeypatch.setattr("medn_edu.studies.claims.ledger.SEEN", ("ocr", "priors"))
    frozen = (
        "Commit `abc` froze the rules, after the tables of `ocr` and `priors` were made, and before"
    )
    assert frozen in " ".join(ledger_text(ledger).split())
    assert draw_forest(ledger, tmp_path / "claims.png").stat().st_size > 10_000
    told = details(ledger.entries["lower"])
    for part in ("\n  as printed     depends, ", "\n  fair           holds, +2.", "decided by M3N",
                 "section 7, paragraph 9", "\n  robust?        no"):  # fmt: skip
        assert part in told
    assert "\n  verdict        untestable: nobody can." in details(ledger.entries["open"])


@pytest.fixture
def judged_once(published, ledger, monkeypatch):
    """The command need not judge the published tables again."""
    monkeypatch.setattr(claims, "load_tables", lambda folder: published)
    monkeypatch.setattr(claims, "make_ledger", lambda tables, fits: ledger)


def test_the_command_lists_all_or_tells_of_some(judged_once, capsys):
    assert main(["claims"]) == 0
    text = capsys.readouterr().out
    assert text.startswith(f"{len(CLAIMS)} claims, of ")
    listed = [line.split()[0] for line in text.splitlines() if line.strip()]
    assert [name for name in listed if name in CLAIMS] == list(CLAIMS)
    assert max(map(len, text.splitlines())) < 150
    by_id = {sentence: claim.name for claim in CLAIMS.values() for sentence in claim.said}
    for asked in ("medn-7.2-d", by_id["medn-7.2-d"]):
        assert main(["claims", asked]) == 0
        assert capsys.readouterr().out.startswith(by_id["medn-7.2-d"] + "\n  claim ")
    assert main(["claims", "asp", "medn-7-a", "asp-5-a"]) == 0
    heads = [line for line in capsys.readouterr().out.splitlines() if line in CLAIMS]
    assert set(heads) == {by_id[i] for i in by_id if i.startswith("asp") or i == "medn-7-a"}


def test_the_command_writes_the_ledger_for_its_page(judged_once, ledger, tmp_path, capsys):
    file, page = tmp_path / "claims.md", tmp_path / "README.md"
    for content, name, selected in (
        ("# Figures\n", "other.md", []),  # it does not link to that
        ("# Figures\n", "claims.md", ["medn-7-a"]),  # always the whole ledger
    ):
        page.write_text(content)
        assert main(["claims", *selected, "--write", str(tmp_path / name)]) == 0
        assert (tmp_path / name).read_text(encoding="utf-8") == ledger_text(ledger)
        assert (page.read_text() == content) == (not selected)
    assert str(file) in capsys.readouterr().out
    assert "(claims.md)" in page.read_text()
    assert file.with_suffix(".png").is_file()


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
