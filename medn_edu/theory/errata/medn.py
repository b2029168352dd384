"""Slips in the MEDN paper (Zhu and Xing 2009), each settled on numbers."""

from __future__ import annotations

from medn_edu.theory.errata.slip import Slip

__all__ = ["MEDN_SLIPS"]

MEDN_SLIPS: tuple[Slip, ...] = ()
"""In the paper's order."""
