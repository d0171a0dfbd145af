import pytest

from migrations_app.samples.karpenter_objects import node_template
from tests.builders.clusters import asked_hops, finding_of, remedies
from tests.builders.pools import REFERENCE, a_claim, a_class, a_pool, answer, at, found, parses, row, unseen_is_unknown

CHECK = "class_names_fit_labels"
LONGEST, TOO_LONG = "n" * 63, "n" * 64


def class_named(name: str, *docs, version: str = "1.0.9"):
    return at(version, a_class(name=name), *docs)


def pool_of(name: str):
    return a_pool({f"{REFERENCE}.name": name})


@pytest.mark.parametrize("name", ["default", LONGEST, "a.b-c.0"])
def test_a_name_that_fits(name):
    assert answer(CHECK, "1.1+", class_named(name, pool_of(name))) == (
        "pass",
        "Every name of a node class can be the value of a label",
    )


@pytest.mark.parametrize("name", [TOO_LONG, ".".join(["n" * 60] * 4)])
def test_a_name_that_is_too_long(name):
    seen = f"{len(name)} characters"
    named = row("EC2NodeClass", name, "metadata.name", seen=seen, wanted="at most 63 characters")
    used = class_named(name, pool_of(name))
    assert found(CHECK, "1.1+", used) == ("fail", (named,))
    assert finding_of(CHECK, "1.1+", used).severity == "blocker"


def test_later_hops_ask_as_well():
    assert found(CHECK, "1.6", class_named(TOO_LONG, pool_of(TOO_LONG), version="1.5.2"))[0] == "fail"
    assert asked_hops(CHECK)[:3] == ("0.32", "0.33+", "1.1+")


def test_a_class_that_nothing_names_only_warns():
    assert finding_of(CHECK, "1.1+", class_named(TOO_LONG, pool_of("default"))).severity == "warning"


def test_a_class_that_a_node_claim_still_names():
    claimed = class_named(TOO_LONG, *a_claim({"spec.nodeClassRef.name": TOO_LONG}))
    assert finding_of(CHECK, "1.1+", claimed).severity == "blocker"


@pytest.mark.parametrize("part", ["nodepools", "nodeclaims"])
def test_who_names_the_class_was_not_read(part):
    assert finding_of(CHECK, "1.1+", class_named(TOO_LONG).unseen(part)).severity == "blocker"


def test_without_classes_it_does_not_arise():
    assert answer(CHECK, "1.1+", at("1.0.9")) == ("not_applicable", "there is no EC2NodeClass yet")


@pytest.mark.parametrize(("hop", "version"), [("0.32", "0.31.5"), ("0.33+", "0.32.10")])
def test_a_template_gives_its_name_to_the_class(hop, version):
    """The name is chosen where it is converted; at 1.1 nodes would have to be replaced for it."""
    named = row("AWSNodeTemplate", TOO_LONG, "metadata.name", seen="64 characters", wanted="at most 63 characters")
    alpha = at(version, node_template(TOO_LONG, cluster="shop"))
    assert found(CHECK, hop, alpha) == ("fail", (named,))
    assert finding_of(CHECK, hop, alpha).severity == "warning"
    (given,) = remedies(CHECK, hop, alpha)
    assert [line[0] for line in given.text.splitlines()] == ["#"] * 3
    assert f"shorten the name of {TOO_LONG}" in given.text
    assert found(CHECK, hop, at(version, node_template(LONGEST, cluster="shop"))) == ("pass", ())


def test_unseen():
    unseen_is_unknown(CHECK, "1.1+", version="1.0.9")


def test_the_remedy():
    given = remedies(CHECK, "1.1+", class_named(TOO_LONG, pool_of(TOO_LONG)))
    assert parses(given) == ["kubectl"]
    lines = given[0].text.splitlines()
    assert f"kubectl get ec2nodeclasses.karpenter.k8s.aws {TOO_LONG} -o yaml" in lines
    assert [line for line in lines if line.startswith("# a name cannot be changed: create a copy of the class")] != []
