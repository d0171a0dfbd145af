from dataclasses import replace

import pytest

from migrations_app.checks.registry import all_checks
from migrations_app.checks.runner import run
from migrations_app.karpenter.versions import release
from tests.builders.clusters import asked_hops, case_at, remedies
from tests.builders.pools import a_class, answer, at, found, parses, row, unseen_is_unknown

CHECK = "custom_images_tainted"
WANTED = "karpenter.sh/unregistered:NoExecute among the taints the kubelet registers with"
CUSTOM = {"spec.amiFamily": "Custom", "spec.userData": "#!/bin/bash\n/opt/start"}


def beta(changes=None):
    return at("0.37.8", a_class(changes, version="v1beta1"))


def test_generated_user_data():
    assert answer(CHECK, "1.0", beta()) == ("pass", "Nodes with custom user data join with the taint")


def test_user_data_without_the_taint():
    seen = "amiFamily Custom, and user data without the taint"
    cause = row("EC2NodeClass", "default", "spec.userData", seen=seen, wanted=WANTED)
    assert found(CHECK, "1.0", beta(CUSTOM)) == ("fail", (cause,))
    assert found(CHECK, "1.1+", at("1.0.14", a_class(CUSTOM))) == ("fail", (cause,))


def test_nodeadm_writes_the_taint_of_karpenters_part_unless_it_reads_a_file():
    call = "#!/bin/bash\nnodeadm init"
    assert answer(CHECK, "1.0", beta({"spec.userData": call}))[0] == "pass"
    (cause,) = found(CHECK, "1.0", beta({"spec.userData": f"{call} -c file:///etc/own.yaml"}))[1]
    assert cause.seen == "nodeadm init called without the taint"


def test_where_the_patch_insists_another_check_speaks():
    case = case_at("1.0", beta(CUSTOM))
    case = replace(case, hop=replace(case.hop, release=release("1.0.5")))
    (finding,) = run([next(one for one in all_checks() if one.id == CHECK)], case)
    assert (finding.status, finding.summary) == (
        "not_applicable",
        "1.0.5 insists on the taint: see custom_images_register",
    )


@pytest.mark.parametrize("odd", [7, ["x"], {}])
def test_odd_values_are_unknown_by_their_field(odd):
    told = ("unknown", "EC2NodeClass default: spec.userData is not a text")
    assert answer(CHECK, "1.0", beta({"spec.userData": odd})) == told


def test_without_classes_it_does_not_arise():
    assert answer(CHECK, "1.0", at("0.37.8")) == ("not_applicable", "there is no EC2NodeClass yet")
    assert asked_hops(CHECK)[0] == "1.0"


def test_unseen():
    unseen_is_unknown(CHECK, "1.0", version="0.37.8")


def test_the_remedy():
    given = remedies(CHECK, "1.0", beta(CUSTOM))
    assert parses(given) == ["kubectl"]
    edit = f"kubectl edit ec2nodeclasses.karpenter.k8s.aws default  # spec.userData; {WANTED}"
    assert given[0].text.splitlines()[1:] == [edit]
