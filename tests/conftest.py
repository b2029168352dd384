"""Fixtures shared by all tests: the OCR letters, which the repository may not contain."""

from __future__ import annotations

import os

import pytest


@pytest.fixture(scope="session")
def require_ocr():
    """Skip where the OCR letters are missing; in CI, or if the file is damaged, fail."""
    from medn_edu.datasets import status

    found = status()
    if found.path is None and os.environ.get("CI") != "true":
        pytest.skip(f"needs the OCR letters: {found.problem}")
    if not found.valid:
        pytest.fail(found.problem)


@pytest.fixture(scope="session")
def ocr(require_ocr):
    """The OCR letters, loaded once; not to be changed by a test."""
    from medn_edu.datasets import load_ocr

    return load_ocr(download=False)


@pytest.fixture
def small_groups(monkeypatch):
    """Cut even small data sets into groups for threads; returns the number of groups of samples."""
    from medn_edu.inference import _common

    monkeypatch.setattr(_common, "_GROUP_NODES", 2)
    return lambda samples: len(_common.groups(samples))
