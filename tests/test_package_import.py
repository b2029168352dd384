"""Importing the package is quick because it loads nothing; its names arrive when asked for."""

import importlib.metadata
import json
import subprocess
import sys

import pytest

import medn_edu


def modules_after(code: str) -> set[str]:
    """Names of all modules loaded in a fresh process after ``code``."""
    script = f"{code}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    return set(json.loads(run.stdout))


def test_import_loads_only_the_package_and_the_standard_library():
    # Compared with an empty process: an environment may load modules of its own at start.
    new = modules_after("import medn_edu") - modules_after("")
    roots = {name.split(".")[0] for name in new}
    assert roots - {"medn_edu"} <= sys.stdlib_module_names
    assert {name for name in new if name.startswith("medn_edu")} == {"medn_edu"}


def test_learning_and_claims_need_no_plotting():
    learning = modules_after("import medn_edu; medn_edu.M3N, medn_edu.load_digit_words")
    assert learning.isdisjoint({"matplotlib", "ipywidgets", "anywidget", "IPython", "pandas"})
    claims = modules_after("import medn_edu.studies.claims")
    assert claims.isdisjoint({"matplotlib", "medn_edu.explorers"})


def test_public_names_are_there_and_stay_the_same():
    changing = [n for n in medn_edu.__all__ if getattr(medn_edu, n) is not getattr(medn_edu, n)]
    assert not changing
    assert set(medn_edu.__all__) <= set(dir(medn_edu))
    with pytest.raises(AttributeError, match="module 'medn_edu' has no attribute 'M4N'"):
        medn_edu.M4N  # noqa: B018
    assert importlib.metadata.version("medn_edu") == medn_edu.__version__
