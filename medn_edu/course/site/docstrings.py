"""An extension of Sphinx that shows our texts and docstrings as they are meant."""

import contextlib
import re
import sys
from pathlib import Path
from typing import Any

from medn_edu.course.site.reference import MODULES
from medn_edu.course.syllabus import REPOSITORY

_CHECKOUT = Path(__file__).parents[3]
_UNIT = re.compile(r"(?<=\d) (?=[%±−×·])|(?<=[±−×·]) (?=\d)")


def setup(app: Any) -> dict[str, Any]:
    """Tell Sphinx what to do differently."""
    from docutils import nodes
    from sphinx.transforms import SphinxTransform

    class PlainTypes(SphinxTransform):
        """Leave quotes in types as they are, because types are code: ``{"full", "potts"}``."""

        default_priority = 740  # before quotes become typographic

        def apply(self, **_: Any) -> None:
            for kind in (nodes.term, nodes.classifier):
                for node in self.document.findall(kind):
                    node["support_smartquotes"] = False

    class Units(SphinxTransform):
        """Keep a number and its sign in one line, except in tables, which would grow too wide."""

        default_priority = 740

        def apply(self, **_: Any) -> None:
            as_they_are = nodes.literal, nodes.math, nodes.FixedTextElement, nodes.entry
            for text in list(self.document.findall(nodes.Text)):
                whole = _UNIT.sub("\N{NO-BREAK SPACE}", text)
                if whole != text and not _is_within(text, as_they_are):
                    text.parent.replace(text, nodes.Text(whole))

    app.add_transform(PlainTypes)
    app.add_transform(Units)
    app.connect("autodoc-skip-member", _skip_others)
    app.connect("autodoc-process-docstring", _describe_constant, priority=400)  # before numpydoc
    app.connect("autodoc-process-signature", _shorten_signature)
    app.connect("missing-reference", _link)
    return {"parallel_read_safe": True}


def _is_within(node: Any, kinds: tuple[type, ...]) -> bool:
    while node := node.parent:
        if isinstance(node, kinds):
            return True
    return False


def _skip_others(
    app: Any, what: str, name: str, member: Any, skip: bool, options: Any
) -> bool | None:
    """Skip members whose code isn't ours; None leaves the decision to others."""
    of = getattr(member, "__module__", None) or type(member).__module__
    return True if of.split(".")[0] in ("sklearn", "abc", "collections", "_collections") else None


def _describe_constant(
    app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]
) -> None:
    """Take a constant's docstring from the module that defines it, not from its type."""
    from sphinx.errors import PycodeError
    from sphinx.pycode import ModuleAnalyzer

    if what != "data":
        return
    lines.clear()
    key = "", name.rpartition(".")[2]
    for home, module in sorted(sys.modules.items()):
        if home.startswith("medn_edu.") and vars(module).get(key[1]) is thing:
            with contextlib.suppress(PycodeError):  # it cannot read all of Python
                lines.extend(ModuleAnalyzer.for_module(home).find_attr_docs().get(key, []))
    if isinstance(thing, dict):
        lines += ["", f"Its keys are {', '.join(f'``{each!r}``' for each in thing)}.", ""]


def _shorten_signature(
    app: Any, what: str, name: str, thing: Any, options: Any, signature: str | None, returns: str
) -> tuple[str, str] | None:
    """Show no arguments of protocols, which nobody calls, and no names of factories."""
    if what != "class" or signature is None:
        return None
    is_protocol = getattr(thing, "_is_protocol", False)
    return ("" if is_protocol else signature.replace("<factory>", "...")), returns


def _link(app: Any, env: Any, node: Any, content: Any) -> Any:
    """Link public names of other subpackages, and modules without a page to their source."""
    from docutils import nodes

    python, target = env.domains.python_domain, node["reftarget"].removesuffix("()")
    for name in (f"{node.get('py:module')}.{target}", target):
        if file := _source(name):
            address = f"https://github.com/{REPOSITORY}/blob/HEAD/{file}"
            return nodes.reference("", "", content, internal=False, refuri=address)
    short = target.removeprefix("medn_edu.")
    found = [name for room in MODULES if (name := f"medn_edu.{room}.{short}") in python.objects]
    if len(found) != 1:
        return None
    return python.resolve_xref(env, node["refdoc"], app.builder, "obj", found[0], node, content)


def _source(name: str) -> str:
    """Return the path of a module of ours within the checkout, or nothing if it is none."""
    stem = Path(*name.split("."))
    files = (stem.with_suffix(".py"), stem / "__init__.py") if name.startswith("medn_edu.") else ()
    return next((file.as_posix() for file in files if (_CHECKOUT / file).exists()), "")
