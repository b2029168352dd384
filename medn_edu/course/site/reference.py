"""The reference of the public names: a page for each subpackage, from its ``__all__``."""

import inspect
from importlib import import_module
from types import ModuleType

MODULES = (
    "estimators", "datasets", "samples", "text", "priors", "slacks", "problems", "solvers", "results",
    "inference", "theory", "explorers", "course",
)  # fmt: skip
"""The public subpackages, in the order in which users meet them."""

_LONGEST = 160  # characters of a value that is shown


def reference_pages() -> dict[str, str]:
    """Return the pages as reStructuredText by their names without extension."""
    modules = {name: import_module(f"medn_edu.{name}") for name in MODULES}
    pages = {name: _page(module) for name, module in modules.items()}
    top = import_module("medn_edu")
    homes = {
        name: room for room, module in modules.items() for name in getattr(module, "__all__", [])
    }
    names = [f"   ~{homes[name]}.{name}" for name in top.__all__ if name in homes]
    pages["index"] = "\n".join(
        ["Reference", "=========", "", ".. automodule:: medn_edu", "",
         "Subpackages", "-----------", "",
         ".. autosummary::", "   :nosignatures:", "", *(f"   {name}" for name in MODULES), "",
         ".. toctree::", "   :hidden:", "", *(f"   {name}" for name in MODULES), "",
         "What ``import medn_edu`` offers directly", "-" * 40, "",
         ".. autosummary::", "   :nosignatures:", "", *names, ""]
    )  # fmt: skip
    return pages


def _page(module: ModuleType) -> str:
    title = module.__name__
    lines = [title, "=" * len(title), "", f".. automodule:: {title}", ""]
    names = getattr(module, "__all__", None) or [
        name for name, each in vars(module).items()
        if getattr(each, "__module__", "") == title and not name.startswith("_")
    ]  # fmt: skip
    lines += [".. autosummary::", "   :nosignatures:", "", *(f"   {name}" for name in names), ""]
    for name in names:
        lines += [f".. {_directive(getattr(module, name))}:: {name}", *_options(module, name), ""]
    return "\n".join(lines)


def _directive(thing: object) -> str:
    if inspect.isclass(thing):
        return "autoexception" if issubclass(thing, BaseException) else "autoclass"
    if inspect.ismodule(thing):
        return "automodule"
    return "autofunction" if inspect.isroutine(thing) else "autodata"


def _options(module: ModuleType, name: str) -> list[str]:
    """Return the options of a directive: members of classes, and no long values of constants."""
    thing = getattr(module, name)
    kind = _directive(thing)
    if kind == "autoclass":
        return ["   :members:", "   :inherited-members: BaseEstimator,tuple"]
    is_shown = isinstance(thing, str | tuple) and len(repr(thing)) <= _LONGEST
    return ["   :no-value:"] if kind == "autodata" and not is_shown else []
