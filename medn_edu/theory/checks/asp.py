"""Statements on approximated structured prediction (Hazan and Urtasun 2010), on random instances."""

from __future__ import annotations

from medn_edu.theory.checks.asp_exact import EXACT_CHECKS
from medn_edu.theory.checks.asp_local import LOCAL_CHECKS
from medn_edu.theory.checks.check import Check

ASP_CHECKS: tuple[Check, ...] = (*EXACT_CHECKS, *LOCAL_CHECKS)
"""The checks: what is exact, then what is approximated."""
