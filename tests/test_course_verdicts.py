"""Verdicts: the same sentence everywhere, with a symbol and a colour in a notebook."""

import re
from types import SimpleNamespace
from typing import Any

import IPython
import numpy as np
import pytest

from medn_edu.course.exercises import CHECKS
from medn_edu.course.exercises.verdicts import as_html


def contrast(*colours: str) -> float:
    """Contrast of two colours; WCAG asks for 3 where no letters are to be read."""
    light = []
    for colour in colours:
        shares = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
        linear = np.where(shares <= 0.04045, shares / 12.92, ((shares + 0.055) / 1.055) ** 2.4)
        light.append(float(linear @ [0.2126, 0.7152, 0.0722]) + 0.05)
    return max(light) / min(light)


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, str]]:
    """What a notebook displays."""
    found: list[dict[str, str]] = []
    shell = SimpleNamespace(kernel="a kernel", display_pub=SimpleNamespace(publish=found.append))
    monkeypatch.setattr(IPython, "get_ipython", lambda: shell)
    return found


def test_a_notebook_shows_the_line_of_a_terminal_with_a_symbol(
    shown: list[dict[str, str]], capsys: pytest.CaptureFixture[str]
) -> None:
    check = CHECKS["check_count_labellings"]
    check()
    assert shown.pop()["text/plain"].startswith("Not yet: ")
    for answer, symbol in ((None, "✎"), (10**5, "✔"), (3, "✘")):
        check(answer)
        assert symbol in shown[-1]["text/html"]
        assert capsys.readouterr().out == ""
        with pytest.MonkeyPatch.context() as terminal:
            terminal.setattr(IPython, "get_ipython", lambda: SimpleNamespace())
            check(answer)
        assert capsys.readouterr().out == shown[-1]["text/plain"] + "\n"
    assert len(shown) == 3
    colours = [re.findall(r"#\w{6}", data["text/html"])[0] for data in shown]
    assert len(set(colours)) == 3
    for theme in ("#ffffff", "#111111"):  # of JupyterLab, by day and by night
        assert min(contrast(colour, theme) for colour in colours) > 3


def test_what_a_learner_gives_is_text_and_no_html(shown: list[dict[str, str]]) -> None:
    def fails(*_: Any) -> None:
        raise ValueError("<img src=x onerror=alert(1)> `</code>` \ud800")

    CHECKS["check_viterbi"](fails)
    CHECKS["check_shape"](lambda word: "<script>alert(1)</script>")
    for data in shown:
        assert "<script" not in data["text/html"]
        assert "<img" not in data["text/html"]
        data["text/html"].encode()
    assert "&lt;script&gt;" in shown[1]["text/html"]


def test_code_and_stress_are_marked_and_products_stay() -> None:
    text = as_html("Not quite", "*two* pairs: 2 * 3 * 4 is `2**a*b*c`, *not three*.")
    assert "<em>two</em> pairs: 2 * 3 * 4 is <code>2**a*b*c</code>, <em>not three</em>." in text
