"""Slips in the L1-M3N paper (Zhu, Xing and Zhang 2009), each settled on numbers."""

from __future__ import annotations

from medn_edu.theory.errata.slip import Slip

__all__ = ["L1M3N_SLIPS"]

L1M3N_SLIPS: tuple[Slip, ...] = ()
"""In the paper's order."""
