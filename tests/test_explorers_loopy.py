"""Explorers of graphs with cycles show what enumeration, linear programs and messages say."""

import itertools
import warnings

import numpy as np
import pytest
from scipy.special import logsumexp

from medn_edu.datasets import draw_image
from medn_edu.explorers import clearing, hardening, messages
from medn_edu.explorers.clearing import COUPLINGS, FINE, clearing_frame, fine_parts
from medn_edu.explorers.hardening import EVIDENCE, NUMBERS, SIGNS, TEMPERATURES, hardening_frame
from medn_edu.explorers.kit.grids import EDGES, REPELLING, square
from medn_edu.explorers.kit.grids import EVIDENCE as OWN
from medn_edu.explorers.messages import N_SWEEPS, messages_frame
from medn_edu.inference import Potentials
from medn_edu.inference.loopy import norm_product
from medn_edu.samples import grid, pack

LABELLINGS = np.array(list(itertools.product((0, 1), repeat=9)))


def scores(coupling: float, evidence: float, two_repel: bool) -> np.ndarray:
    """Scores of all labellings of the square, written out."""
    signs = 2 * LABELLINGS - 1
    weights = coupling * np.where(REPELLING & two_repel, -1, 1)
    return evidence * signs @ OWN + (signs[:, EDGES[:, 0]] * signs[:, EDGES[:, 1]]) @ weights


@pytest.mark.parametrize("signs", SIGNS)
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_exact_marginals_of_the_square(signs: str, epsilon: float) -> None:
    frame = messages_frame(N_SWEEPS, 1.0, 0.0, 0.75, signs, epsilon)
    z = scores(0.75, 0.7, signs == "two repel") / epsilon
    p = np.exp(z - logsumexp(z))
    equal = LABELLINGS[:, EDGES[:, 0]] == LABELLINGS[:, EDGES[:, 1]]
    assert frame.log_partition == pytest.approx(epsilon * logsumexp(z))
    np.testing.assert_allclose(frame.exact_node, p @ LABELLINGS, atol=1e-12)
    np.testing.assert_allclose(frame.exact_edge, p @ equal, atol=1e-12)


def test_value_and_bounds_of_messages() -> None:
    """Concave numbers have bounds around each other, and the value ends between them."""
    for edges, share in ((1.0, 0.0), (2 / 3, 1.0), (1.5, 0.25), (0.25, 0.75)):
        frame = messages_frame(N_SWEEPS, edges, share, 0.5, "two repel", 1.0)
        assert frame.certified
        assert (np.diff(frame.uppers) <= 1e-9).all()
        assert (frame.lowers <= frame.uppers + 1e-9).all()
        assert frame.lower - 0.1 <= frame.value <= frame.upper + 0.1
    assert not messages_frame(3, 1.0, 1.0, 0.5, "all attract", 1.0).certified


def test_runs_of_exercise_3_are_what_the_chapter_prints() -> None:
    runs = {(2 / 3, 1.0): (0.94, 0.52, 0.17, 0.07), (1.0, 1.0): (0.41, 0.44, 0.56, 0.55)}
    runs |= {(1.0, 0.0): (0.10, 0.02, 0.00, 0.00)}
    for (edges, share), apart in runs.items():
        frames = [messages_frame(k, edges, share, 1.5, "two repel", 1.0) for k in (1, 4, 12, 24)]
        assert [frame.disagreement for frame in frames] == pytest.approx(apart, abs=0.006)
        if share < 1 or edges < 1:
            bounds = {0.0: (33.21, 33.21), 1.0: (18.50, 18.83)}[share]
            assert (round(frames[-1].lower, 2), round(frames[-1].upper, 2)) == bounds
    assert round(frames[0].log_partition, 2) == 14.55


def test_messages_shows_the_frame() -> None:
    at = {"edges": 2 / 3, "share": 1.0, "coupling": 1.0, "signs": "two repel", "epsilon": 0.5}
    explorer, frame = messages().set(sweep=5, **at), messages_frame(5, **at)
    said = explorer.summary
    assert said.startswith(
        "TRW: edges count 0.67, nodes 1 \u2212 0.67 per edge; coupling 1.00, two"
    )
    assert f"bounds {frame.lower:.2f} and {frame.upper:.2f}, log-partition" in said
    left, middle, right = explorer.figure.axes
    texts = [text.get_text() for text in left.texts]
    assert {f"{b:.2f}" for b in frame.node} | {f"({p:.2f})" for p in frame.exact_node} <= set(texts)
    shown = {line.get_label(): line for line in (*middle.lines, *right.lines)}
    nodes = shown["nodes"].get_xydata()
    np.testing.assert_array_equal(nodes, np.stack([frame.exact_node, frame.node], axis=1))
    over = shown["upper"].get_ydata() + frame.log_partition
    np.testing.assert_allclose(over, frame.uppers)
    assert "no bounds" in explorer.set(edges=1.0).summary
    assert "no bounds" in right.texts[-1].get_text()
    assert np.isnan(shown["upper"].get_ydata()).all()


def test_an_image_clears_from_pixels_alone() -> None:
    boat = draw_image("boat")[2:34, 20:52]
    for noise in ("flip", "gaussian"):
        frame = clearing_frame(0, 0.5, noise, "bethe")
        centre = {"flip": 0.0, "gaussian": 0.5}[noise]
        np.testing.assert_array_equal(frame.wrong, (frame.noisy > centre) != boat)
        alone = clearing_frame(12, 0.0, noise, "ones")
        np.testing.assert_array_equal(alone.wrong, frame.wrong)
        assert 2 * clearing_frame(12, 0.5, noise, "bethe").n_wrong < 1.1 * frame.n_wrong
    counts = [clearing_frame(12, each, "flip", "bethe") for each in COUPLINGS]
    assert [each.n_fine for each in counts] == frame_counts(counts[0].fine_errors)
    plain = [each.n_wrong - each.n_fine for each in counts]
    assert plain == frame_counts(counts[0].other_errors)


def test_which_label_a_strong_coupling_spreads_is_the_order_of_the_visits() -> None:
    """As the answer to `predict_ink` says: from the top, not by which label there is more of."""
    noisy = clearing_frame(0, 0.0, "flip", "bethe").noisy
    ink = []
    for x in (noisy, noisy[::-1].copy()):
        node = 0.5 * np.log(4) * x.reshape(-1, 1) * [-1, 1]
        edge = 2.0 * np.array([[[1.0, -1.0], [-1.0, 1.0]]])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = norm_product(Potentials(pack([grid(x)]), node, edge), "bethe", max_sweeps=12)
        ink.append(np.mean(found.beliefs.node[:, 1] > 0.5))
    assert ink[0] == 0
    assert ink[1] > 0.9
    assert noisy.sum() > 0, "so that ink everywhere scores more than paper everywhere"
    assert draw_image("boat")[2:34, 20:52][0].sum() <= 1, "the top is paper"


def frame_counts(counts: np.ndarray) -> list[int]:
    return [int(count) for count in counts]


def test_fine_parts_are_lines_and_corners() -> None:
    image = np.zeros((7, 7), dtype=int)
    image[1:5, 1:5] = 1  # corners of a square have two neighbours of their own
    image[:, 6] = 1  # a line
    fine = fine_parts(image)
    assert fine[1, 1] and fine[4, 4] and not fine[1, 2]  # noqa: PT018
    assert not fine[2:4, 2:4].any()
    assert fine[3, 5], "between the square and the line"
    assert 100 < FINE.sum() < 250


def test_clearing_shows_the_frame() -> None:
    explorer = clearing().set(sweep=3, coupling=0.75, noise="flip", numbers="bethe")
    frame = clearing_frame(3, 0.75, "flip", "bethe")
    assert f"{frame.n_wrong} of 1024 pixels wrong" in explorer.summary
    pictures = {ax.get_title(loc="left"): ax for ax in explorer.figure.axes}
    shown = pictures["Beliefs, sweep 3"].images[0].get_array()
    np.testing.assert_array_equal(shown, frame.beliefs)
    assert (np.asarray(pictures["Wrong pixels"].images[0].get_array()) > 0).sum() == frame.n_wrong


@pytest.mark.parametrize("signs", SIGNS)
def test_the_local_program_lies_above_the_exact_one_and_its_bounds_are_close(signs: str) -> None:
    for evidence, numbers in itertools.product(EVIDENCE, NUMBERS):
        frame = hardening_frame(0.0, evidence, signs, numbers)
        assert (frame.uppers - frame.lowers).max() < 0.05
        assert (frame.uppers >= frame.soft_maxima - 1e-6).all()
        best = scores(1.0, evidence, signs == "two repel").max()
        assert frame.soft_max == pytest.approx(best)
        assert frame.score <= best + 1e-9
        assert frame.gap == pytest.approx(0.0, abs=1e-6) or signs == "two repel"
    soft = hardening_frame(0.5, 1.0, signs, "trw")
    z = scores(1.0, 1.0, signs == "two repel") / 0.5
    assert soft.soft_max == pytest.approx(0.5 * logsumexp(z))


def test_hardening_shows_the_frame_and_time_runs_from_cold_to_warm() -> None:
    explorer = hardening().set(epsilon=0.0, evidence=0.5, signs="two repel", numbers="trw")
    assert "local program 12.00, exact value 9.35, gap 2.65" in explorer.summary
    left, right = explorer.figure.axes
    assert [text.get_text() for text in left.texts].count("0.50") == 9
    assert right.texts[-1].get_text() == "gap 2.65"
    control = explorer.controls["epsilon"]
    assert control.kind == "time"
    assert list(control.values) == sorted(TEMPERATURES)


def test_potentials_of_the_square() -> None:
    potentials = square(2.0, 0.5, two_repel=True)
    np.testing.assert_allclose(potentials.node[:, 1] - potentials.node[:, 0], OWN)
    np.testing.assert_array_equal(potentials.edge[7], -potentials.edge[0])
