"""Everything public says what it takes and what it returns, in numpydoc's form."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from typing import Any

import pytest

import medn_edu

WALK = pkgutil.walk_packages(medn_edu.__path__, "medn_edu.")
# modules with an underscore are nobody else's business, and importing __main__ is running it
MODULES = [info.name for info in WALK if "._" not in info.name]


def public_objects() -> Iterator[tuple[str, Any]]:
    """Functions, classes and their public methods, each from the module that defines it."""
    for module_name in MODULES:
        module = importlib.import_module(module_name)
        for name in getattr(module, "__all__", []):
            item = getattr(module, name)
            item = getattr(item, "py_func", item)  # a compiled function's Python source
            if getattr(item, "__module__", None) != module_name:
                continue
            yield f"{module_name}.{name}", item
            if inspect.isclass(item):
                for key, member in vars(item).items():
                    if not key.startswith("_"):
                        yield f"{module_name}.{name}.{key}", getattr(member, "__func__", member)


FUNCTIONS = {name: item for name, item in public_objects() if inspect.isfunction(item)}
CLASSES = {name: item for name, item in public_objects() if inspect.isclass(item)}


def documented(text: str, heading: str = "Parameters") -> set[str]:
    """Names under a heading."""
    pattern = rf"^{heading}\n-+\n(.*?)(?=^\w[^\n]*\n---|\Z)"
    section = re.search(pattern, text, re.DOTALL | re.MULTILINE)
    if section is None:
        return set()
    names = re.findall(r"^(\S[^:\n]*)", section[1], re.MULTILINE)
    return {part.strip().lstrip("*") for line in names for part in line.split(",")}


def test_there_is_something_to_check():
    assert len(FUNCTIONS) > 30
    assert "medn_edu.estimators.m3n.M3N" in CLASSES


@pytest.mark.parametrize("name", MODULES)
def test_module_has_a_docstring(name):
    assert importlib.import_module(name).__doc__


@pytest.mark.parametrize("name", FUNCTIONS)
def test_function(name):
    function = FUNCTIONS[name]
    text = inspect.getdoc(function)
    assert text, f"{name} has no docstring"
    if name.startswith("medn_edu.kernels."):
        return  # called from inside only; what the arrays are is said once, per module
    parameters = [p for p in inspect.signature(function).parameters if p not in ("self", "cls")]
    missing = set(parameters) - documented(text)
    if len(parameters) > 1 or not is_method(name):
        assert not missing, f"{name} does not say what {sorted(missing)} are"


def is_method(name: str) -> bool:
    return name.rpartition(".")[0] in CLASSES


@pytest.mark.parametrize("name", CLASSES)
def test_class(name):
    cls = CLASSES[name]
    text = cls.__doc__
    assert text, f"{name} has no docstring"
    if issubclass(cls, Exception) or getattr(cls, "_is_protocol", False):
        return
    if name.startswith("medn_edu.kernels."):
        return
    text = inspect.cleandoc(text)
    missing = set(inspect.signature(cls).parameters) - documented(text)
    missing -= documented(text, "Attributes")
    assert not missing, f"{name} does not say what {sorted(missing)} are"
