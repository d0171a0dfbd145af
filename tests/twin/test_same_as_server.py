"""The twin answers as a real API server: the same sequences of requests, compared answer by answer (docs/twin.md)."""

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import count

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from migrations_app.twin.server import Twin
from tests.servers.apiserver import ApiServer
from tests.twin.both import Ask, compared, of_server, of_twin
from tests.twin.gadgets import definition
from tests.twin.play import Player
from tests.twin.sequences import APPLY, SEQUENCES, Step

SEQUENCES_PLAYED, PARTS = 2000, 8
_runs = count()


@pytest.fixture(scope="module")
def sides(apiserver: ApiServer) -> Iterator[tuple[Ask, Ask]]:
    """A twin of the version of the real server, and that server; both with the same definitions."""
    apiserver.wipe()
    apiserver.load_documents([definition()])
    twin = Twin(lambda: datetime.now(UTC), minor=20, collects=False)
    assert (
        twin.request("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", body=definition()).status == 201
    )
    yield of_twin(twin), of_server(apiserver)
    apiserver.wipe()


@pytest.mark.parametrize("part", range(PARTS))
@settings(
    max_examples=SEQUENCES_PLAYED // PARTS,
    phases=[Phase.explicit, Phase.generate, Phase.shrink],
    suppress_health_check=[*HealthCheck],
)
@given(steps=SEQUENCES)
def test_the_same_sequence_gives_the_same_answers(sides: tuple[Ask, Ask], part: int, steps: list[Step]) -> None:
    run = f"part{part}-{next(_runs)}"
    twin, server = (Player(ask, run) for ask in sides)
    for step in steps:
        mine, real = twin.play(step), server.play(step)
        assert compared(mine) == compared(real), (step, mine.document, real.document)
    assert [compared(one) for one in twin.ends(steps)] == [compared(one) for one in server.ends(steps)]


def applied(plural: str, *, manager: str = "kubectl", **body: object) -> Step:
    query = (("fieldManager", manager), ("force", "true"))
    return Step(method="PATCH", plural=plural, name="a", body=body, content_type=APPLY, query=query)


MARKED = {"labels": {"tier": "x"}, "annotations": {"note": "y"}}


@pytest.mark.parametrize(
    "steps",
    [
        [applied("configmaps", metadata=MARKED), applied("configmaps", metadata={})],
        [applied("gadgets", metadata=MARKED, spec={"size": 3}), applied("gadgets", metadata={}, spec={"size": 3})],
        [
            applied("configmaps", metadata=MARKED),
            applied("configmaps", metadata={"annotations": {"theirs": "z"}}, manager="other"),
            applied("configmaps", metadata={}),
            applied("configmaps", metadata={}, manager="other"),
        ],
    ],
    ids=["core", "custom", "two managers"],
)
def test_who_applies_no_metadata_any_more_takes_it_away(sides: tuple[Ask, Ask], steps: list[Step]) -> None:
    run = f"bare-{next(_runs)}"
    twin, server = (Player(ask, run) for ask in sides)
    for step in steps:
        mine, real = twin.play(step), server.play(step)
        assert (real.status // 100, compared(mine)) == (2, compared(real)), (step, mine.document, real.document)
    assert [compared(one) for one in twin.ends(steps)] == [compared(one) for one in server.ends(steps)]
