"""Which sentences of the papers hold: an inventory, rules fixed in advance, and a ledger.

What is compared, and how a verdict is reached, stands in ``README.md``.
"""

from medn_edu.studies.claims.claim import CLAIMS, COMING, PAPERS, SEEN, Claim, ClaimError, judge
from medn_edu.studies.claims.ledger import Entry, entries, ledger_text, load_tables
from medn_edu.studies.claims.verdicts import STATUSES, Verdict

__all__ = [
    "CLAIMS",
    "COMING",
    "PAPERS",
    "SEEN",
    "STATUSES",
    "Claim",
    "ClaimError",
    "Entry",
    "Verdict",
    "entries",
    "judge",
    "ledger_text",
    "load_tables",
]
