"""What users import says what it takes, in numpydoc's form; ruff sees that nothing goes without."""

import importlib
import inspect
import re
from collections.abc import Iterator
from typing import Any

import medn_edu

ROOMS = ("priors", "solvers", "problems", "inference", "datasets", "explorers", "text")
FOR_USERS = ["medn_edu", *(f"medn_edu.{room}" for room in ROOMS)]


def exported() -> dict[str, Any]:
    """Functions and classes that users import, by the place of their definition."""
    found = {}
    for module in map(importlib.import_module, FOR_USERS):
        for item in (getattr(module, name) for name in module.__all__):
            item = getattr(item, "py_func", item)  # a compiled function's Python source
            if inspect.isfunction(item) or inspect.isclass(item):
                found[f"{item.__module__}.{item.__qualname__}"] = item
    return found


def methods(cls: type) -> Iterator[tuple[str, Any]]:
    """Public methods of a class, and those that it has from classes of the package."""
    for base in cls.__mro__:
        if base.__module__.startswith("medn_edu."):
            for key, member in vars(base).items():
                member = getattr(member, "__func__", member)
                if not key.startswith("_") and inspect.isfunction(member):
                    yield f"{base.__module__}.{base.__qualname__}.{key}", member


def documented(text: str, heading: str = "Parameters") -> set[str]:
    """Names under a heading."""
    pattern = rf"^{heading}\n-+\n(.*?)(?=^\w[^\n]*\n---|\Z)"
    section = re.search(pattern, text, re.DOTALL | re.MULTILINE)
    if section is None:
        return set()
    names = re.findall(r"^(\S[^:\n]*)", section[1], re.MULTILINE)
    return {part.strip().lstrip("*") for line in names for part in line.split(",")}


def undescribed(item: Any, text: str) -> set[str]:
    """Parameters that a docstring does not describe; a method's only one may go without."""
    names = {
        name
        for name in inspect.signature(item).parameters
        if name not in ("self", "cls") and not name.startswith("_")  # those are not for users
    }
    if inspect.isclass(item):
        return names - documented(text) - documented(text, "Attributes")
    is_method = "." in item.__qualname__
    return set() if is_method and len(names) == 1 else names - documented(text)


def test_what_users_import_says_what_it_takes():
    every, missing = exported(), {}
    for name, item in every.items():
        told = [(name, item), *(methods(item) if inspect.isclass(item) else ())]
        if inspect.isclass(item) and (
            issubclass(item, Exception) or getattr(item, "_is_protocol", False)
        ):
            told = told[1:]
        for each, what in told:
            if names := undescribed(what, inspect.getdoc(what) or ""):
                missing[each] = sorted(names)
    assert not missing
    assert len(every) > 80
    assert "medn_edu.estimators.m3n.M3N" in every
    assert any(name.endswith(".fit") for name, _ in methods(medn_edu.M3N))


def test_a_parameter_left_out_is_found():
    """Otherwise the test above would prove nothing."""

    def half(a: int, *rest: int, b: int) -> None:
        """Do it.

        Parameters
        ----------
        a, *rest : int
            Numbers.

        Returns
        -------
        b : None
        """

    half.__qualname__ = "half"
    assert undescribed(half, inspect.getdoc(half)) == {"b"}
