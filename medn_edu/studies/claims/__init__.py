r"""Which sentences of the papers hold: an inventory, rules fixed in advance, and a ledger.

**Why.**  A figure can be read with kind eyes.  Here each empirical sentence of the papers'
experiments is a `Claim`, with a rule that a program applies to the stored tables of a study.  The
rules were written, and revised, before the tables of the studies at paper scale were looked at, all
but those about ``l1m3n-algorithms``, whose table was there first, and those that were mended
afterwards; the ledger marks them, and says what was changed.

**What is compared.**  The *effect* is a difference in percentage points of wrong labels between two
models on the same data, positive where it speaks for the claim, unless the rule says otherwise.
Models are those that the papers trained: three rounds of the variational bound, or sub-gradient
descent that stops early.  The note says what the optima of the same problems would have given.  Only
where the *size* of weights is what counts, LapMEDN and M3N are those with ``C = 1`` and at their optima:
descent that stops early leaves a scale that says nothing, and changes no prediction.

**Units.**  What counts is how many things were drawn independently, not how many fits were made.

========================  =======================================================================
``synthetic-iid``         30 random CRFs, each with its data: ten for each number of relevant
                          features.  Training sets of one CRF are nested, so the five sizes are
                          averaged before anything else
``synthetic-correlated``  10 data sets.  Parts of a data set that train in turn are averaged, and so
                          are their five sizes; the eleventh, on which constants were chosen, is left
                          out
``ocr`` and others        10 folds that train.  No word trains twice, but any two folds share most of
                          the words that test them: the intervals speak of other training words, not
                          of other test words, and not of words beyond the 55 in these data
========================  =======================================================================

**Intervals** are Student's, at 95 %, of the mean over units: ten or thirty averages of thousands of
labels are close to normal, and with ten units a bootstrap would promise too much.  Groups of
different units are compared by Welch's t.  Statistics of average weights, no means over units, have
a jackknife interval with the same quantiles.  Nothing is corrected for the number of claims: of
those that hold, or do not, by a hair, some do so by chance.  A claim about several models holds only if
it holds for each, which needs no correction; but it does not hold if one of them refutes it, which
chance does the more easily the more there are.

**Verdicts.**

*holds*
    The whole interval is as the claim says; and if the claim says "consistently", so is the mean in each
    setting (of number of training samples and of relevant features).
*does not hold here*
    The interval excludes the claim: all of it is on the other side, or, for "comparable" and numbers,
    outside the margin.  Where there is no interval, the estimate decides.
*mixed*
    Anything between: the data cannot tell, or not in each setting.
*not tested yet*
    The study is still to come, or was not run, or no experiment asks the question; the note says which.

Of a claim about several models, or with several parts: it holds if all parts do; it does not hold if
at least one of them does not; else it is mixed.  Where a paper leaves open which of two algorithms it
means, that is decided only where both agree.

**Margins**, all chosen in advance, stand in ``claims.toml``: what "much", "slightly", "as well as" and
other words of the papers are taken to mean.  How far an average weight is from the truth is told in
`claims.weights`.

**Adding a claim** takes an entry in ``claims.toml``; a reason why it does not hold, one in
``findings.toml``.  Their first lines explain the fields.

A claim that does not hold is a finding, not a verdict on the papers: much that they leave open had
to be chosen anew.  `medn_edu.studies.claims.findings` says what is known of the reasons.
"""

from __future__ import annotations

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
