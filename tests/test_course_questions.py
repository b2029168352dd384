"""Questions that are answered before looking: words, answers, and what is kept of guesses."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from medn_edu.course.navigation import START
from medn_edu.course.progress import RECORD, noted_guess, progress
from medn_edu.course.questions import QUESTIONS, Question
from medn_edu.course.questions import question as questions
from medn_edu.course.syllabus import CHAPTERS

NOTEBOOKS = Path(__file__).resolve().parent.parent / "notebooks"
rises = Question(
    asks="Does a sum of positive terms rise?",
    choices=("it falls", "it rises"),
    right=lambda: int(1 + 1 > 1),
    look="add another one.",
    because="Each term adds something.",
    name="predict_rise",
)


@pytest.fixture
def course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / START).write_text("{}")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS)
def test_answers_are_computed_and_fit_the_choices(question: Question) -> None:
    assert question.name.startswith("predict_")
    assert 3 <= len(question.choices) <= 4
    assert len(set(question.choices)) == len(question.choices)
    assert question.right() in range(len(question.choices))
    assert question.asks.endswith("?")
    assert question.look.endswith(".")
    assert question.because.endswith(".")


def read(path: Path) -> list[tuple[str, str]]:
    """The kind and the source of each cell of a notebook."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [(cell["cell_type"], "".join(cell["source"])) for cell in cells]


def asked_in(cell: tuple[str, str]) -> Question | None:
    """The question that a code cell's last line names."""
    kind, source = cell
    return QUESTIONS.get(source.rpartition("\n")[2]) if kind == "code" else None


def test_each_question_stands_before_an_explorer_and_nothing_gives_it_away() -> None:
    asked = []
    for path in [NOTEBOOKS / each.file for each in CHAPTERS]:
        cells = read(path)
        for at, question in enumerate(map(asked_in, cells)):
            if question is None:
                continue
            asked.append(question.name)
            shown = next(k for k in range(at, len(cells)) if "explorer" in cells[k][1])
            assert cells[shown][0] == "code", question.name
            below = next(k for k in range(shown, len(cells)) if cells[k][0] == "markdown")
            assert all(kind == "markdown" for kind, _ in cells[at + 1 : shown]), question.name
            right, around = question.choices[question.right()], cells[at + 1 : below + 1]
            if len(right.split()) > 2:  # "three" may stand there for other things
                around.append(cells[at - 1])
            text = "\n".join(text for kind, text in around if kind == "markdown")
            visible = re.sub(r"<details>.*?</details>", "", text, flags=re.DOTALL)
            found = re.search(rf"\b{re.escape(right)}\b", visible, re.IGNORECASE)
            assert not found, question.name
            assert "*Predict first:*" not in cells[at - 1][1], question.name
    assert sorted(asked) == sorted(QUESTIONS)  # each of them once


def test_a_guess_is_kept_and_found_again(course: Path, capsys: Any) -> None:
    rises(" A ")
    assert capsys.readouterr().out == "Your guess: it falls. Now look: add another one.\n"
    assert noted_guess("predict_rise") == "it falls"
    assert "1 prediction made" in repr(progress())
    view = shown_view(rises)
    assert (view.guess, view.said) == (0, "Your guess: it falls. Now look: add another one.")
    view.guess = 1
    assert view.said.startswith("Your guess: it rises. Now look")
    assert noted_guess("predict_rise") == "it rises"
    record = json.loads((course / RECORD).read_text())
    assert record["guesses"] == {"predict_rise": "it rises"}


def test_other_guesses_are_refused_in_a_sentence(course: Path, capsys: Any) -> None:
    for wrong in ("c", "", None, 1, "rises"):
        rises(wrong)  # type: ignore[arg-type]
        assert "is not a choice; expected one of a, b, in quotes." in capsys.readouterr().out
    assert not (course / RECORD).exists()


def test_outside_the_course_nothing_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rises("b")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / START).write_text("{}")
    (tmp_path / RECORD).write_text("[]")
    assert noted_guess("predict_rise") is None
    rises("b")
    assert (tmp_path / RECORD).read_text() == "[]"


def test_a_saved_question_folds_its_answer(course: Path) -> None:
    data = rises._repr_mimebundle_()
    before, after = data["text/markdown"].split("<details>")
    assert "Each term adds something." not in before + data["text/plain"]
    assert "it rises. Each term adds something." in after


def shown_view(question: Question) -> Any:
    made = []
    original = questions.QuestionView
    questions.QuestionView = lambda *arguments: made.append(original(*arguments)) or made[-1]  # type: ignore
    try:
        question._repr_mimebundle_()
    finally:
        questions.QuestionView = original  # type: ignore[misc]
    return made[0]
