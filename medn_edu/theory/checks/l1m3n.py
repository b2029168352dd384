"""Statements of the L1-M3N paper, tried on random instances."""

from __future__ import annotations

from medn_edu.theory.checks.check import Check
from medn_edu.theory.checks.l1m3n_adaptive import ADAPTIVE_CHECKS
from medn_edu.theory.checks.l1m3n_programs import PROGRAM_CHECKS

L1M3N_CHECKS: tuple[Check, ...] = (*PROGRAM_CHECKS, *ADAPTIVE_CHECKS)
"""The checks, in the paper's order."""
