"""Why claims about OCR do not hold: what the tables of these studies say."""

from __future__ import annotations

from medn_edu.experiments.claims.finding import Finding

OCR_FINDINGS: dict[str, Finding] = {}
