"""The studies there are, one file each; `medn-edu reproduce --list` prints them.

A study is a file of this folder that is named after it, in which a line begins with ``NAME = Study(``.
Its words are in the Markdown file of the same name.  `STUDIES` finds them all, in the order of their
`place`.
"""

import re
from importlib import import_module
from pathlib import Path

from medn_edu.studies.kit.specs import Study

__all__ = ["STUDIES"]

_DECLARATION = re.compile(r"^\w+ = Study\(", re.MULTILINE)


def _found() -> list[Study]:
    files = sorted(Path(__file__).parent.glob("*.py"))
    names = [f.stem for f in files if _DECLARATION.search(f.read_text(encoding="utf-8"))]
    modules = [import_module(f"medn_edu.studies.{name}") for name in names]
    found = [item for module in modules for item in vars(module).values()]
    studies = [item for item in found if isinstance(item, Study)]
    return sorted(studies, key=lambda study: (study.place, study.name))


STUDIES: dict[str, Study] = {study.name: study for study in _found()}
"""All studies by name: those of formulas, those that train models, those that watch something."""
