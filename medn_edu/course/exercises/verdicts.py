"""Verdicts: a plain line in a terminal, and in a notebook the same line with a symbol and a colour."""

import html
import re
import sys
from typing import Any

# Symbol, and its colour in the palette: seen on white and on black, by people with any colour vision.
_LOOKS = {"Right": ("✔", "GREEN"), "Not yet": ("✎", "PURPLE"), "Not quite": ("✘", "VERMILION")}


def show(verdict: str, text: str) -> None:
    """Print a verdict, or display it if a notebook is running."""
    # What a learner's exception says may hold halves of characters, which nothing can print.
    text = text.encode(errors="backslashreplace").decode()
    line = f"{verdict}: {text}"
    # Nobody needs IPython to print; where a notebook runs, it has been imported.
    shell: Any = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if hasattr(shell, "kernel"):
        shell.display_pub.publish({"text/plain": line, "text/html": as_html(verdict, text)})
    else:
        print(line)


def as_html(verdict: str, text: str) -> str:
    """Return a verdict for a notebook.  A learner's answer is shown as text, never as HTML."""
    from medn_edu.explorers.kit import palette  # and matplotlib with it: only where it is shown

    symbol, name = _LOOKS[verdict]
    colour = getattr(palette, name)
    # The text has no colour of its own and keeps that of the theme.
    box = f"border-left: 5px solid {colour}; padding: 6px 12px; max-width: 46em; line-height: 1.5;"
    box += " font-family: sans-serif; white-space: normal; overflow-wrap: anywhere;"
    head = f'<b><span style="color: {colour};">{symbol}</span> {verdict}:</b>'
    return f'<div class="mathjax_ignore" style="{box}">{head} {_marked(text)}</div>'


def _marked(text: str) -> str:
    """Return a text as HTML, with `code` and *stress*."""
    parts = re.split(r"`([^`]+)`", html.escape(text))
    stress = re.compile(r"(?<!\S)\*([^\s*]([^*]*\S)?)\*")
    parts[::2] = [stress.sub(r"<em>\1</em>", part) for part in parts[::2]]
    parts[1::2] = [f"<code>{part}</code>" for part in parts[1::2]]
    return "".join(parts)
