"""Every explorer of the course with its title and its chapter, in the order of the course."""

from importlib import import_module
from pkgutil import iter_modules

from medn_edu import explorers
from medn_edu.course.syllabus import CHAPTERS
from medn_edu.explorers.kit.explorer import Exhibit


def _exhibits() -> list[Exhibit]:
    """Return what the explorers' files declare, chapter by chapter."""
    names = [f"medn_edu.explorers.{each.name}" for each in iter_modules(explorers.__path__)]
    modules = [import_module(name) for name in (*names, "medn_edu.studies.browser")]
    found = [item for each in modules for item in vars(each).values() if isinstance(item, Exhibit)]
    order = [each.slug for each in CHAPTERS]
    return sorted(found, key=lambda each: (order.index(each.chapter), each.place, each.name))


EXHIBITS = {each.name: each for each in _exhibits()}
"""The explorers by the names of the functions that make them, in the order of the course."""
