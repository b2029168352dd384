"""Every empirical sentence of the papers' experiments, in our words, with the rule that decides it.

One file a paper.  A sentence that says several things is several claims; sentences that say the same
share a rule, and each paper's stands in the list.  Settings, protocols and hardware are no claims;
explanations that nobody tests are listed as not tested.
"""

from __future__ import annotations

from medn_edu.studies.claims.inventory import asp, l1m3n, lapm3n, medn
from medn_edu.studies.claims.inventory.shared import ALGORITHMS, DENOISING, EPSILON, WEB

__all__ = ["CLAIMS", "COMING", "SEEN"]

CLAIMS = {claim.id: claim for paper in (medn, lapm3n, l1m3n, asp) for claim in paper.CLAIMS}
"""The claims by id."""

COMING = (WEB, DENOISING, EPSILON)
"""Studies that are still to come."""

SEEN = (ALGORITHMS,)
"""Studies whose tables were there before the rules about them."""
