"""Tables: written and read again they are the same, and damage is noticed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medn_edu.studies.kit.tables import csv_text, read_csv

VALUES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()


@given(st.lists(st.fixed_dictionaries({"model": VALUES, "error": VALUES})))
def test_reading_and_writing_settles_at_once(rows):
    text = csv_text(rows, ["model", "error"])
    assert csv_text(read_csv(text), ["model", "error"]) == text


def test_missing_values_are_empty():
    assert csv_text([{"a": float("nan")}, {"a": None}, {}], ["a", "b"]) == "a,b\n,\n,\n,\n"


def test_a_text_of_several_lines_is_one_line():
    assert csv_text([{"a": "first\n  second"}], ["a"]) == "a\nfirst second\n"


def test_a_line_cut_short_is_named():
    with pytest.raises(ValueError, match="line 3 of the table has 1 cells; expected 2"):
        read_csv("a,b\n1,2\n3\n")


def test_an_empty_file():
    with pytest.raises(ValueError, match="empty"):
        read_csv("")


def test_exact_tables_have_all_digits():
    rows = [{"a": 1 / 3, "b": 2.0, "c": "text"}, {"a": -0.0, "b": 7, "c": None}]
    text = csv_text(rows, ["a", "b", "c"], exact=True)
    assert text == "a,b,c\n0.3333333333333333,2.0,text\n0.0,7,\n"
    assert read_csv(text, exact=True) == rows
