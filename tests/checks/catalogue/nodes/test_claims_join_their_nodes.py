import pytest

from migrations_app.checks.base import Evidence
from migrations_app.samples.karpenter_objects import claim, machine
from tests.builders.clusters import a_cluster, finding_of, reads, remedies, result_of, result_without
from tests.builders.pods import OLD, is_shell

CHECK = "claims_join_their_nodes"
GOOD = ("pass", "Every NodeClaim has a registered node", ())
JUST = "2026-10-01T11:50:00Z"


def on_v1(*docs):
    return a_cluster("1.0.8").with_docs(*docs)


def a_claim(**status):
    return claim(OLD, node_class="d", version="v1", status=status)


def row(seen: str, *, path: str = "status.conditions", kind: str = "NodeClaim") -> Evidence:
    return Evidence(kind=kind, name=OLD.claim, path=path, seen=seen, wanted="a node that is ready")


def aged(doc, at: str | None, **more):
    return doc | {"metadata": doc["metadata"] | {"creationTimestamp": at} | more}


def test_all_joined():
    assert result_of(CHECK, "1.1+", on_v1(*a_claim())) == GOOD
    assert (
        result_of(CHECK, "0.33+", a_cluster("0.32.10", kubernetes="1.28").with_docs(*machine(OLD, template="d")))
        == GOOD
    )


@pytest.mark.parametrize("word", ["Registered", "Initialized"])
def test_one_that_has_not(word):
    found = result_of(CHECK, "1.1+", on_v1(*a_claim(**{word: "False"})))
    assert found == ("fail", "1 NodeClaim has no registered node", (row(f"{word} is False"),))


def test_a_machine_that_has_not():
    made, node = machine(OLD, template="d")
    made["status"]["conditions"] = []
    found = result_of(CHECK, "0.33+", a_cluster("0.32.10", kubernetes="1.28").with_docs(made, node))
    assert found[2] == (row("Registered is not set", kind="Machine"),)


def test_one_whose_node_is_gone():
    found = result_of(CHECK, "1.1+", on_v1(a_claim()[0]))
    assert found[2] == (row("no node with it", path="status.providerID"),)


def test_young_and_going_claims_have_time():
    made = a_claim(Registered="False")[0]
    assert result_of(CHECK, "1.1+", on_v1(aged(made, JUST))) == GOOD
    assert result_of(CHECK, "1.1+", on_v1(aged(made, "2026-09-01T00:00:00Z", deletionTimestamp=JUST))) == GOOD


@pytest.mark.parametrize("at", [None, "", "yesterday"])
def test_an_odd_age_is_unknown(at):
    why = f"NodeClaim {OLD.claim}: metadata.creationTimestamp cannot be read"
    assert result_of(CHECK, "1.1+", on_v1(aged(a_claim()[0], at))) == ("unknown", why, ())


def test_claims_of_auto_mode_are_not_karpenters():
    made = a_claim(Registered="False")
    made[0]["spec"]["nodeClassRef"] = {"group": "eks.amazonaws.com", "kind": "NodeClass", "name": "d"}
    assert result_of(CHECK, "1.1+", on_v1(*made)) == ("not_applicable", "there is no claim", ())


def test_without_claims_it_does_not_arise():
    assert result_of(CHECK, "1.1+", on_v1()) == ("not_applicable", "there is no claim", ())
    assert finding_of(CHECK, "1.1+", on_v1()).severity == "warning"


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "1.1+", on_v1(), part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_the_remedy_looks_first():
    (remedy,) = remedies(CHECK, "1.1+", on_v1(*a_claim(Registered="False")))
    assert remedy.text.splitlines()[1:] == [f"kubectl describe nodeclaims.karpenter.sh {OLD.claim}"]
    assert is_shell(remedy.text)
