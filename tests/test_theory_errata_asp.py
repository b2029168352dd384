"""Slips in the paper on approximated structured prediction: the corrected formula is the true one."""

from __future__ import annotations

import numpy as np
import pytest

from medn_edu.theory.errata.asp import ASP_MISPRINTS, ASP_SLIPS

BY_TITLE = {slip.title: slip for slip in ASP_SLIPS}


def test_every_slip_has_a_name_of_its_own():
    assert len(BY_TITLE) == len(ASP_SLIPS) == 12
    assert {slip.paper for slip in ASP_SLIPS} == {"ASP"}


@pytest.mark.parametrize("title", BY_TITLE)
def test_the_correction_is_true_and_the_print_is_not(title):
    slip = BY_TITLE[title]
    printed, corrected = slip.errors()
    assert corrected <= slip.tolerance <= 1e-5
    assert printed >= slip.margin == 0.01
    assert slip.is_settled()


def test_numbers_that_pencil_and_paper_give():
    numbers = BY_TITLE["the prior"].numbers()
    assert numbers["corrected"] == pytest.approx(1 / (1 + 3 * np.exp(2)), rel=1e-12)
    assert numbers["printed"] == pytest.approx(1 / (1 + 3 * np.exp(-2)), rel=1e-12)
    upside_down = BY_TITLE["the power of the product"].numbers()
    assert upside_down["printed"] + upside_down["truth"] == pytest.approx(1.0, abs=1e-12)
    weights = BY_TITLE["the weights in the Lagrangian"].numbers()
    assert weights["printed"] == -weights["corrected"]


def test_with_the_printed_sign_there_is_no_minimum():
    numbers = BY_TITLE["the sign of the regulariser"].numbers()
    assert numbers["printed, at 100 times the weights"] < -1000 < 0 < numbers["printed"]


def test_any_number_for_zero_and_needlessly_short_steps_stop_above_the_minimum():
    for title in ("any number for a counting number 0", "the size of the steps"):
        numbers = BY_TITLE[title].numbers()
        assert numbers["printed"] > numbers["truth"] + 0.05
    assert BY_TITLE["the size of the steps"].numbers()["largest increase"] <= 1e-12


def test_misprints_say_where_and_what():
    for where, printed, meant in ASP_MISPRINTS:
        assert where
        assert printed != meant
