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
        "every EC2NodeClass selects reservations",
        (),
    )


def test_a_class_without_terms_is_named_beside_one_that_selects():
    made = node_class("d", cluster="test", version="v1", capacityReservationSelectorTerms=[{"id": "cr-1"}])
    others = [node_class(f"other-{number}", cluster="test", version="v1") for number in range(6)]
    status, summary, _ = result_of(CHECK, NEWEST_MINOR, on("1.3.3", made, *others))
    assert status == "manual"
    assert "nodes of other-0, other-1, other-2, other-3, other-4, ... use only what" in summary


def test_there_is_no_class():
    assert result_of(CHECK, NEWEST_MINOR, on("1.3.3")) == ("not_applicable", "there is no EC2NodeClass", ())


@pytest.mark.parametrize(
    ("gates", "status"), [("ReservedCapacity=true", "not_applicable"), ("NodeRepair=true", "manual")]
)
def test_a_gate_that_is_on_has_changed_this_before(gates: str, status: str):
    cluster = on("1.3.3", node_class("d", cluster="test", version="v1")).with_flag(f"--feature-gates={gates}")
    assert result_of(CHECK, NEWEST_MINOR, cluster)[0] == status


def test_it_was_settled_before():
    assert result_of(CHECK, NEWEST_MINOR, on("1.8.2")) == ("not_applicable", "the upgrade does not enter 1.6", ())


def test_it_only_informs():
    assert asked_hops(CHECK)[0] == "1.6"
    cluster = on("1.3.3", node_class("d", cluster="test", version="v1"))
    assert finding_of(CHECK, NEWEST_MINOR, cluster).severity == "info"


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, NEWEST_MINOR, on("1.3.3"), part=part) == (
        "unknown",
        f"{part} could not be read: forbidden",
    )
