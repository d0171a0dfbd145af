"""How long a hop is where a cluster has many faults at once: it grows by its work alone, a few lines a thing to do.

Measured in Markdown, which takes more lines than text: a hop of the sample stories, the clean clusters and those with
one fault has at most 120 lines. A cluster half-way on 0.32 has 115 with 8 faults and 21 things to do, 123 with 8 others
and 23, and 193 with all 26 of that cluster at once: that is no usual hop, and each of its things still takes 3 to 5.
"""

import re
from functools import cache

import pytest

from migrations_app.readiness.outputs import runbook_markdown, runbook_table
from migrations_app.readiness.outputs.runbook_view import STEP_LINES, printed_runbook
from migrations_app.readiness.runbook.runbook import Runbook, runbook
from tests.acceptance.clusters import CLEAN, objects
from tests.acceptance.clusters import find as find_clean
from tests.acceptance.judging import judged
from tests.acceptance.planted import FAULTS
from tests.readiness.runbook.test_runbook_rules import HOP_LINES

pytestmark = pytest.mark.xdist_group("stories")  # judged once, in one worker

AT_ONCE = 8
OF_A_THING = 4
"""Lines of one thing to do: what is wrong, the first of its evidence, its command or file, and a share of its step."""
AROUND = 55
"""Lines beside the things to do: the head of the hop, its steps, the landing of both charts, and the rollbacks."""
ALL = 1000
CROWDED = [
    (clean.name, first, AT_ONCE)
    for clean in CLEAN
    for first in range(0, sum(one.on == clean.name for one in FAULTS), AT_ONCE)
] + [("finished-032", 0, ALL), ("beta-037", 0, ALL)]


@cache
def crowded(on: str, first: int, most: int) -> Runbook:
    """The runbook of that cluster with so many of its faults at once; one that does not fit beside the others is left
    out."""
    clean = find_clean(on)
    documents = objects(clean)
    mine = [one for one in FAULTS if one.on == on and not one.kubernetes]
    for fault in mine[first : first + most]:
        try:
            fault.plant(documents)
        except (KeyError, IndexError, LookupError, ValueError, StopIteration):
            continue
    return runbook(judged(clean, documents))


@pytest.mark.parametrize(("on", "first", "most"), CROWDED)
def test_a_hop_is_longer_only_by_its_work(on: str, first: int, most: int) -> None:
    found = crowded(on, first, most)
    view = printed_runbook(found)
    things = [sum(len(step.items) for step in hop.steps) for hop in view.hops]
    for text, head, step in (
        (runbook_table.render(found), r"\d+\. Hop ", r"   \d+\.\d+ "),
        (runbook_markdown.render(found), r"## \d+\. ", r"### \d+\.\d+ "),
    ):
        body = re.split(r"^(?:File |## Files)", text, flags=re.MULTILINE)[0]
        hops = re.split(rf"^(?={head})", body, flags=re.MULTILINE)[1:]
        assert len(hops) == len(things)
        for part, todo in zip(hops, things, strict=True):
            assert len(part.strip().splitlines()) <= max(HOP_LINES, AROUND + OF_A_THING * todo)
            for one in re.split(rf"^(?={step})", part, flags=re.MULTILINE)[1:]:
                lines = re.split(r"\n\n|\n   \d+ checks? (?:is|are) settled", one.strip("\n"))[0].splitlines()
                assert len(lines) <= STEP_LINES, one


def test_half_way_with_everything_at_once_is_the_longest() -> None:
    """So that what is measured above stays what the docstring says."""
    body = runbook_markdown.render(crowded("finished-032", 0, ALL)).split("\n## Files")[0]
    first = re.split(r"^(?=## \d+\. )", body, flags=re.MULTILINE)[1]
    assert HOP_LINES < len(first.strip().splitlines()) <= 200
