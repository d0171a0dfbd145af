"""One fix stands once in a hop, and the other finding that asks for it says where."""

from migrations_app.checks.base import Finding
from migrations_app.checks.changes import ChangeTarget, ObjectDelete, Observation, group
from migrations_app.checks.remedies.commands import in_cluster
from migrations_app.readiness.runbook.runbook import without_repeats
from tests.readiness.outputs.reports import finding

LOOK = Observation(pipe=(("kubectl", "get", "nodes"),))


def machine(name: str, **also: object) -> ObjectDelete:
    target = ChangeTarget("Machine", name, resource="machines.karpenter.sh")
    return ObjectDelete(target=target, **also)  # type: ignore[arg-type] # fields of a change by their names


def asks(name: str, *names: str, **also: object) -> Finding:
    change = group(LOOK, *(machine(one, **also) for one in names))
    return finding(name, "fail", remedies=(in_cluster(change),))


def texts(*found: Finding) -> list[str]:
    return [remedy.text for one in without_repeats(found) for remedy in one.remedies]


def test_of_equal_fixes_the_first_stays_whatever_is_said_beside_them() -> None:
    whole = asks("one", "a", "b").remedies[0].text
    assert texts(asks("one", "a", "b"), asks("two", "a", "b", done="it is gone")) == [
        whole,
        "# Made by the fix of one, in this upgrade",
    ]


def test_a_part_points_to_the_whole_in_whatever_order() -> None:
    whole = asks("whole", "a", "b").remedies[0].text
    assert texts(asks("part", "b"), asks("whole", "a", "b")) == ["# Made by the fix of whole, in this upgrade", whole]


def test_other_objects_other_waits_and_commands_that_only_look_are_no_repeats() -> None:
    found = (
        asks("one", "a"),
        asks("two", "b"),
        asks("three", "a", propagation="orphan"),
        finding("look", "fail", remedies=(in_cluster(LOOK),)),
        finding("again", "fail", remedies=(in_cluster(LOOK),)),
        finding("bare", "fail"),
    )
    assert without_repeats(found) == found
