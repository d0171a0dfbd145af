import pytest

from migrations_app.samples.karpenter_objects import node_class
from tests.builders.clusters import a_cluster, asked_hops, finding_of, reads, result_of, result_without
from tests.builders.newest import NEWEST_MINOR
from tests.builders.pods import is_shell

CHECK = "open_reservations_selected"


def on(version: str, *docs):
    return a_cluster(version, kubernetes="1.30").with_docs(*docs)


def test_a_person_has_to_look():
    status, summary, evidence = result_of(
        CHECK, NEWEST_MINOR, on("1.3.3", node_class("d", cluster="test", version="v1"))
    )
    assert (status, evidence) == ("manual", ())
    assert "aws ec2 describe-capacity-reservations" in summary
    assert is_shell(summary.partition(": ")[2].partition(";")[0])


def test_a_class_selects_them():
    made = node_class("d", cluster="test", version="v1", capacityReservationSelectorTerms=[{"id": "cr-1"}])
    assert result_of(CHECK, NEWEST_MINOR, on("1.3.3", made)) == (
        "not_applicable",
        "a node class selects reservations",
        (),
    )


def test_it_was_settled_before():
    assert result_of(CHECK, NEWEST_MINOR, on("1.8.2")) == ("not_applicable", "the upgrade does not enter 1.6", ())


def test_it_only_informs():
    assert asked_hops(CHECK)[0] == "1.6"
    assert finding_of(CHECK, NEWEST_MINOR, on("1.3.3")).severity == "info"


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, NEWEST_MINOR, on("1.3.3"), part=part) == (
        "unknown",
        f"{part} could not be read: forbidden",
    )
