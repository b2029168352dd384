"""The page "How to add ...": its examples are added to a copy of the package, and its commands run."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "figures" / "how-to-add.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(\w+)(?: (file|add-to)=(\S+))?\n(.*?)^```", re.DOTALL | re.MULTILINE)
PARTS = re.split(r"^## (An? \w+)$", PAGE, flags=re.MULTILINE)
SECTIONS = dict(zip(PARTS[1::2], PARTS[2::2], strict=True))
WHAT_THEY_SAY = {
    "A study": "Tables, times, figures and caption are in results/digit-sizes-quick",
    "A claim": "fair           holds, ",
    "An explorer": " passed",
    "An exercise": "Not quite: upside down: the slope is 2 / lambda.",
}


@pytest.mark.parametrize("section", sorted(SECTIONS.keys() | WHAT_THEY_SAY))
def test_an_example_works(section: str, tmp_path: Path) -> None:
    copied = shutil.ignore_patterns("__pycache__", ".*")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for folder in ("medn_edu", "tests", "figures"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=copied)
    commands, added = [], 0
    for language, how, file, content in BLOCK.findall(SECTIONS[section]):
        if how == "file":
            assert not (tmp_path / file).exists()
            (tmp_path / file).write_text(content, encoding="utf-8")
            added += 1
        elif how == "add-to":
            with (tmp_path / file).open("a", encoding="utf-8") as existing:
                existing.write(f"\n{content}")
            added += 1
        elif language == "bash":
            commands += content.splitlines()
    assert added >= 1
    assert commands
    environment = os.environ | {"PYTHONPATH": str(tmp_path), "TQDM_DISABLE": "1"}
    said = ""
    for command in commands:
        program, *arguments = re.findall(r'"[^"]*"|\S+', command)
        modules = {"medn-edu": ["-m", "medn_edu.cli"], "python": []}
        words = [sys.executable, *modules[program], *(word.strip('"') for word in arguments)]
        done = subprocess.run(
            words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        said += done.stdout + done.stderr
    assert WHAT_THEY_SAY[section] in said
