import pytest

from migrations_app.checks.base import Evidence
from migrations_app.checks.changes import leaves
from migrations_app.samples.karpenter_objects import claim
from tests.builders.clusters import (
    a_cluster,
    an_empty_cluster,
    asked_hops,
    finding_of,
    reads,
    remedies,
    result_of,
    result_without,
)
from tests.builders.pods import OLD, is_shell

CHECK = "condition_reasons_given"
GOOD = ("pass", "Every NodeClaim condition has a reason", ())


def bare(*reasons):
    made = claim(OLD, node_class="d", version="v1beta1")
    words = ("Launched", "Registered", "Ready")
    rows = ({"type": word, "status": "True"} | extra for word, extra in zip(words, reasons, strict=True))
    made[0]["status"]["conditions"] = list(rows)
    return made


def test_reasons_everywhere_or_no_conditions():
    assert result_of(CHECK, "1.0", a_cluster().with_docs(*claim(OLD, node_class="d", version="v1beta1"))) == GOOD
    made = claim(OLD, node_class="d", version="v1beta1")
    assert result_of(CHECK, "1.0", a_cluster().with_docs(made[0] | {"status": {}})) == GOOD


@pytest.mark.parametrize("empty", [{}, {"reason": ""}, {"reason": None}])
def test_conditions_without(empty):
    docs = bare(empty, {"reason": "Registered"}, empty)
    path = "status.conditions[].reason"
    row = Evidence(kind="NodeClaim", name=OLD.claim, path=path, seen="none: Launched Ready", wanted="a reason")
    assert result_of(CHECK, "1.0", a_cluster().with_docs(*docs)) == (
        "fail",
        "1 NodeClaim has a condition with no reason",
        (row,),
    )


def test_before_0_37_nobody_gave_one():
    early = a_cluster("0.35.12").with_docs(*bare({}, {}, {}))
    assert result_of(CHECK, "1.0", early) == ("not_applicable", "0.37 fills them in; ask again once it runs", ())


def test_an_unknown_release_is_unknown():
    status, summary, _ = result_of(CHECK, "1.0", an_empty_cluster().with_kubernetes("v1.29.1"), start="0.37.8")
    assert (status, summary.partition(":")[0]) == ("unknown", "which release runs is not known")


def test_it_informs_once_reasons_are_demanded():
    assert asked_hops(CHECK)[0] == "0.33+"
    assert finding_of(CHECK, "1.0", a_cluster()).severity == "info"


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "1.0", a_cluster(), part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_the_remedy_patches_the_status():
    (remedy,) = remedies(CHECK, "1.0", a_cluster().with_docs(*bare({}, {"reason": "Because"}, {})))
    (step,) = leaves(remedy.change)
    assert (step.subresource, step.needs) == ("status", ("crds_match_controller",))
    assert list(step.body) == [
        {"op": "test", "path": "/status/conditions/0/type", "value": "Launched"},
        {"op": "add", "path": "/status/conditions/0/reason", "value": "Launched"},
        {"op": "test", "path": "/status/conditions/2/type", "value": "Ready"},
        {"op": "add", "path": "/status/conditions/2/reason", "value": "Ready"},
    ]
    command = f"kubectl patch nodeclaims.karpenter.sh {OLD.claim} --subresource=status --type=json -p "
    assert remedy.text.splitlines()[1].startswith(command)
    assert is_shell(remedy.text)
