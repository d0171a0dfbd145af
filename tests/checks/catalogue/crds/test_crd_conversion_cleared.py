import pytest

from migrations_app.checks.base import Evidence
from tests.builders.clusters import a_cluster, asked_hops, helm_crds, reads, remedies, result_of, result_without

CHECK = "crd_conversion_cleared"
GOOD = ("pass", "No CRD keeps a conversion webhook after the upgrade", ())
NONE = ("not_applicable", "no CRD has a conversion webhook", ())


def applied(*, by: str = "", manager: str = "", owns: bool = False, version: str = "1.0.14"):
    """The three CRDs with other marks than Helm's."""
    docs = helm_crds(version)
    for doc in docs:
        metadata = doc["metadata"]
        metadata["labels"], metadata["annotations"] = {}, {}
        if by == "argocd":
            metadata["annotations"] = {"argocd.argoproj.io/tracking-id": "karpenter:x"}
        if by == "flux":
            metadata["labels"] = {"kustomize.toolkit.fluxcd.io/name": "platform"}
        field = {"f:spec": {"f:conversion": {"f:webhook": {}}}} if owns else {"f:spec": {"f:versions": {}}}
        metadata["managedFields"] = [{"manager": manager, "operation": "Update", "fieldsV1": field}] if manager else []
    return a_cluster(version, kubernetes="1.30").without("crds").with_docs(*docs)


def rows(seen: str, wanted: str) -> tuple[Evidence, ...]:
    names = ("nodepools.karpenter.sh", "nodeclaims.karpenter.sh", "ec2nodeclasses.karpenter.k8s.aws")
    return tuple(
        Evidence(kind="CustomResourceDefinition", name=name, path="spec.conversion", seen=seen, wanted=wanted)
        for name in names
    )


def test_helm_takes_it_out():
    assert result_of(CHECK, "1.1+", a_cluster("1.0.14", kubernetes="1.30")) == GOOD


@pytest.mark.parametrize(("by", "told_as"), [("", "kubectl"), ("argocd", "Argo CD"), ("flux", "a Flux Kustomization")])
def test_tools_that_merge_leave_it(by, told_as):
    status, summary, found = result_of(CHECK, "1.1+", applied(by=by))
    assert (status, summary) == ("fail", "3 CRDs would keep part of their conversion settings")
    assert found == rows(f"Webhook, applied by {told_as}", found[0].wanted)
    assert found[0].wanted.startswith("strategy None together with the CRDs of 1.")


def test_what_the_controller_wrote_is_told():
    seen = "Webhook, applied by kubectl; written by karpenter"
    assert {row.seen for row in result_of(CHECK, "1.1+", applied(manager="karpenter", owns=True))[2]} == {seen}
    assert "written" not in result_of(CHECK, "1.1+", applied(manager="karpenter"))[2][0].seen


def test_without_a_webhook_nothing_is_left():
    docs = helm_crds("1.0.14")
    for doc in docs:
        doc["spec"]["conversion"] = {"strategy": "None"}
    assert result_of(CHECK, "1.1+", a_cluster("1.0.14", kubernetes="1.30").without("crds").with_docs(*docs)) == NONE


def test_it_is_asked_where_conversion_ends():
    assert asked_hops(CHECK) == ("1.1+",)


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    found = result_without(CHECK, "1.1+", a_cluster("1.0.14", kubernetes="1.30"), part=part)
    assert found == ("unknown", f"{part} could not be read: forbidden")


def test_the_remedies():
    first, second = remedies(CHECK, "1.1+", applied())
    assert first.text.splitlines()[1] == (
        "if kubectl get crd nodepools.karpenter.sh -o 'jsonpath={.status.storedVersions[*]}' | grep -qx v1; then "
        "kubectl patch crd nodepools.karpenter.sh --type=json -p "
        """'[{"op":"replace","path":"/spec/conversion","value":{"strategy":"None"}}]'; """
        "else echo 'not patched: crd nodepools.karpenter.sh; look first at: kubectl get crd nodepools.karpenter.sh' "
        ">&2; false; fi"
    )
    assert second.how == "argocd"
