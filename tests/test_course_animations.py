"""The README's animation is what its command makes, small, and shows what its caption says."""

from __future__ import annotations

from pathlib import Path

from PIL import Image

from medn_edu.course.animations import lattice_explorer, save_animations

COMMITTED = Path(__file__).resolve().parent.parent / "figures" / "lattice.gif"


def test_the_committed_animation_is_the_one_the_command_makes(tmp_path: Path) -> None:
    (made,) = save_animations(tmp_path / "figures")
    with Image.open(made) as new, Image.open(COMMITTED) as old:
        assert new.size == old.size
        assert new.n_frames == old.n_frames > 30
    assert COMMITTED.stat().st_size < 1_000_000


def test_the_path_jumps_from_wrong_to_right_to_wrong() -> None:
    explorer = lattice_explorer()
    wrong = ["(0 of" not in frame.summary for frame in explorer.stack()]
    assert wrong[0]
    assert not wrong[20]
    assert wrong[-1]
    assert all(explorer.check(lesson) for lesson in explorer.lessons)
