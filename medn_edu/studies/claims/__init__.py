"""Which sentences of the papers hold: questions, rules fixed in advance, and a ledger.

What is compared, and how a verdict is reached, stands in ``README.md``.
"""

from medn_edu.studies.claims.claim import CLAIMS, PAPERS, QUESTIONS, Claim, ClaimError
from medn_edu.studies.claims.judging import Judgement, judge
from medn_edu.studies.claims.ledger import Entry, Ledger, ledger_text, load_tables, make_ledger
from medn_edu.studies.claims.verdicts import STATUSES, Verdict

__all__ = [
    "CLAIMS",
    "PAPERS",
    "QUESTIONS",
    "STATUSES",
    "Claim",
    "ClaimError",
    "Entry",
    "Judgement",
    "Ledger",
    "Verdict",
    "judge",
    "ledger_text",
    "load_tables",
    "make_ledger",
]
