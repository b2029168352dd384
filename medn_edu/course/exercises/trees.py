"""Checks of the exercises of trees."""

import re
from typing import Any

import numpy as np

from medn_edu.course.exercises.declarations import Choice, Function, Judged, Number
from medn_edu.text import NOTHING, parse_page
from medn_edu.theory.reference import Tree, max_product

check_first_message = Number(right=3)
check_fault = Choice(right="c")


def _judge_cut(answer: Any) -> str | None:
    if isinstance(answer, str):
        answer = answer.replace(",", " ").split()
    nodes = {int(node) for node in answer}
    if not nodes <= set(range(5)):
        return "the nodes are numbered 0 to 4: li, s, “$ 24”, b, “19”."
    if nodes == {3, 4}:
        return None
    if not nodes:
        return "something does change. Try the hint."
    if nodes == {4}:
        return "“19” does change, but it's linked only to b. Which label has b without its parent?"
    if nodes == {3}:
        return "b does change. Which label fits “19” then, which prefers no by itself?"
    if 0 in nodes:
        return "li keeps its label: it has 4 + 4 for yes and 0 + 6 for no, and b adds 2 to both."
    return (
        "s and “$ 24” are on the other side of li, which is still yes. So nothing changes for them."
    )


check_cut = Judged(
    right=[3, 4],
    judge=_judge_cut,
    expected="a list of nodes by their numbers, such as [1, 2]",
    mistakes=[[], [4], [3], [0, 3, 4], [1, 2], "b", [7]],
)


check_types = Choice(right="d")


# -- a page of one's own ----------------------------------------------------------------------------


def _judge_page(answer: Any) -> str | None:
    try:
        page = parse_page(answer)
    except ValueError as error:
        return re.sub(r"^html\b", "my_page", str(error))
    records = page.records()
    if len(records) < 2:
        marked = "1 product is" if records else "no product is"
        return (
            f'{marked} marked with data-medn="record"; mark two or more elements, each with one product '
            "in it."
        )
    for number, record in enumerate(records, 1):
        labels = record.of_leaves(record.labels())
        for needed in ("name", "price"):
            if needed not in labels:
                return f'product {number} has no data-medn="{needed}".'
        if NOTHING not in labels:
            return (
                f"every leaf of product {number} is marked as something; add one that isn't, such "
                "as a button or a crossed-out price."
            )
    return None


def _product(name: str, price: str, more: str = "<a>Buy</a>") -> str:
    named = f'<b data-medn="name">{name}</b>' if name else ""
    priced = f'<i data-medn="price">{price}</i>' if price else ""
    return f'<li data-medn="record">{named} {priced} {more}</li>'


check_page = Judged(
    right=f"<ul>{_product('Lamp', '$ 20')}{_product('Desk', '$ 90')}</ul>",
    judge=_judge_page,
    expected='a page as a string, such as "<ul> <li>...</li> </ul>"',
    mistakes=[
        "<p>A lamp for $ 20</p>",
        f"<ul>{_product('Lamp', '$ 20')}</ul>",
        f"<ul>{_product('Lamp', '$ 20')}{_product('', '$ 90')}</ul>",
        f"<ul>{_product('Lamp', '')}{_product('Desk', '$ 90')}</ul>",
        f"<ul>{_product('Lamp', '$ 20', '')}{_product('Desk', '$ 90')}</ul>",
        '<p data-medn="title">Lamp</p>',
        3,
    ],
)


# -- the best score with a certain label at a certain node --------------------------------------------


def _max_marginals(
    node: np.ndarray,
    edge: np.ndarray,
    parents: np.ndarray,
    *,
    turned: bool = False,
    echo: bool = False,
    no_siblings: bool = False,
) -> np.ndarray:
    """Return the best score of all labellings with each label at each node; options make mistakes."""
    table = edge.T if turned else edge
    up, told = node.astype(float), np.zeros_like(node, dtype=float)
    for t in reversed(range(1, len(node))):
        told[t] = (table + up[t]).max(axis=1)
        up[parents[t]] += told[t]
    best = up.copy()
    for t in range(1, len(node)):
        parent = parents[t]
        rest = best[parent] - (0 if echo else told[t])  # without what t itself has told
        if no_siblings:
            rest = node[parent]
        best[t] += (table + rest[:, None]).max(axis=0)
    return best


def _upward(node: np.ndarray, edge: np.ndarray, parents: np.ndarray) -> np.ndarray:
    up, _ = max_product(Tree(node, edge[None], parents, np.zeros_like(parents)))
    return up


def _trees(seed: int = 0) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Return small trees with random scores, the first of them a chain."""
    rng = np.random.default_rng(seed)
    shapes = [[-1, 0, 1], [-1, 0, 1, 0, 3], [-1, 0, 0, 0], [-1, 0, 1, 1, 0, 4, 4]]
    return [
        (rng.normal(size=(len(parents), k)), 1.5 * rng.normal(size=(k, k)), np.array(parents))
        for parents, k in zip(shapes, (2, 2, 3, 3), strict=True)
    ]


check_max_marginals = Function(
    cases=_trees(),
    right=_max_marginals,
    mistakes={
        "upward_only": _upward,
        "table_turned": lambda n, e, p: _max_marginals(n, e, p, turned=True),
        "echo": lambda n, e, p: _max_marginals(n, e, p, echo=True),
        "no_siblings": lambda n, e, p: _max_marginals(n, e, p, no_siblings=True),
        "own_scores_only": lambda n, e, p: n.astype(float),
    },
    otherwise="some results differ; try it on a root with one child, on paper.",
)
