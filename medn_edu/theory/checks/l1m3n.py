"""Statements of the paper, tried on random instances."""

from __future__ import annotations

from medn_edu.theory.checks.check import Check

__all__ = ["L1M3N_CHECKS"]

L1M3N_CHECKS: tuple[Check, ...] = ()
"""The checks, in the paper's order."""
