import pytest

from migrations_app.checks.base import Evidence
from migrations_app.samples.karpenter_objects import ON_DEMAND, pool
from tests.builders.clusters import a_cluster, asked_hops, reads, remedies, result_of, result_without

CHECK = "argocd_waits_for_no_beta"
NONE = ("not_applicable", "Argo CD tracks no v1beta1 object of Karpenter", ())


def tracked(version: str = "v1beta1", *, tracking: str = "platform:karpenter.sh/NodePool:x/general", status=None):
    found = pool("general", ON_DEMAND, node_class="default", version=version)
    found["metadata"]["annotations"] = {"argocd.argoproj.io/tracking-id": tracking} if tracking else {}
    found["status"] = status or {}
    return a_cluster("0.33.12", kubernetes="1.28").with_docs(found)


def test_objects_with_conditions_have_a_health():
    cluster = tracked(status={"conditions": [{"type": "Ready", "status": "True"}]})
    assert result_of(CHECK, "1.0", cluster)[0] == "pass"


def test_objects_without_conditions_are_progressing_for_ever():
    row = Evidence(
        kind="NodePool",
        name="general",
        path="status.conditions",
        seen="absent; tracked by platform",
        wanted="a health rule of its own with Argo CD 3.1 and later",
    )
    found = result_of(CHECK, "1.0", tracked())
    assert found == ("fail", "1 v1beta1 object never becomes healthy in Argo CD", (row,))


@pytest.mark.parametrize("cluster", [tracked("v1"), tracked(tracking=""), a_cluster("0.33.12", kubernetes="1.28")])
def test_others_are_not_asked(cluster):
    assert result_of(CHECK, "1.0", cluster) == NONE


def test_it_is_asked_while_there_is_beta():
    assert asked_hops(CHECK) == ("0.32", "0.33+", "1.0")


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    found = result_without(CHECK, "1.0", a_cluster("0.33.12", kubernetes="1.28"), part=part)
    assert found == ("unknown", f"{part} could not be read: forbidden")


def test_the_remedy_is_a_health_rule():
    assert "resource.customizations.health.karpenter.sh_NodePool: |" in remedies(CHECK, "1.0", tracked())[0].text
