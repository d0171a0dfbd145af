import msgspec
import pytest

from migrations_app.checks.base import Evidence
from migrations_app.inventory.parse import LAST_APPLIED
from migrations_app.samples.karpenter_objects import ON_DEMAND, pool
from tests.builders.clusters import a_cluster, an_empty_cluster, asked_hops, reads, remedies, result_of, result_without

CHECK = "gitops_applies_current_versions"
GOOD = ("pass", "Every manifest uses a served version", ())


def written(*fields: tuple[str, str], labels: dict | None = None):
    found = pool("general", ON_DEMAND, node_class="default", version="v1")
    found["metadata"]["managedFields"] = [
        {"manager": manager, "operation": "Apply", "apiVersion": version} for manager, version in fields
    ]
    found["metadata"]["labels"] = labels or {}
    return a_cluster("1.0.14", kubernetes="1.30").with_docs(found)


def beta(*fields: tuple[str, str]):
    """A pool of 0.37, with what applied it."""
    found = pool("general", ON_DEMAND, node_class="default", version="v1beta1")
    found["metadata"]["managedFields"] = [
        {"manager": manager, "operation": "Apply", "apiVersion": version} for manager, version in fields
    ]
    return a_cluster("0.37.8").with_docs(found)


def packaged(*names: str):
    cluster = a_cluster("1.0.14", kubernetes="1.30").with_values({}, version="1.0.14")
    (record,) = cluster.build().helm_releases.items
    other = msgspec.structs.replace(record, packaged=list(names))
    return cluster.without("helm_releases").with_items("helm_releases", other)


@pytest.mark.parametrize(
    "fields",
    [
        (),
        (("kustomize-controller", "karpenter.sh/v1"),),
        (("karpenter", "karpenter.sh/v1beta1"), ("kube-controller-manager", "karpenter.sh/v1beta1")),
        (("karpdash", "karpenter.sh/v1beta1"),),
    ],
)
def test_current_versions(fields):
    assert result_of(CHECK, "1.1+", written(*fields)) == GOOD


@pytest.mark.parametrize(
    "manager", ["kustomize-controller", "argocd-controller", "kubectl-client-side-apply", "Terraform"]
)
def test_a_manifest_of_old(manager):
    row = Evidence(
        kind="NodePool",
        name="general",
        path="metadata.managedFields",
        seen=f"{manager} (Apply) as karpenter.sh/v1beta1",
        wanted="v1 in the source that it keeps",
    )
    found = result_of(CHECK, "1.1+", written((manager, "karpenter.sh/v1beta1")))
    assert found == ("fail", "1 object is still applied as v1beta1", (row,))


def test_a_helm_release_that_holds_one():
    name = "karpenter.sh/v1beta1 NodePool"
    row = Evidence(
        kind="HelmRelease", namespace="kube-system", name="karpenter", path="manifest", seen=name, wanted="v1"
    )
    found = result_of(CHECK, "1.1+", packaged(name, "karpenter.sh/v1 NodePool"))
    assert found == ("fail", "1 object is still applied as v1beta1", (row,))


def test_nothing_to_apply():
    found = result_of(CHECK, "1.1+", an_empty_cluster(), start="1.0.14")
    assert found[0] == "not_applicable"


@pytest.mark.parametrize("manager", ["kustomize-controller", "helm-controller", "argocd-controller"])
def test_at_1_0_flux_and_argo_cd_already_fight_the_conversion_webhook(manager):
    cluster = beta((manager, "karpenter.sh/v1beta1"))
    assert result_of(CHECK, "1.0", cluster)[:2] == ("fail", "1 object is still applied as v1beta1")


@pytest.mark.parametrize("manager", ["kubectl-client-side-apply", "Terraform", "helm", "karpenter"])
def test_at_1_0_what_nobody_applies_again_is_no_fight(manager):
    assert result_of(CHECK, "1.0", beta((manager, "karpenter.sh/v1beta1"))) == GOOD


def test_at_1_0_kubectl_files_and_helm_releases_wait_for_1_1():
    """Both are applied once, by somebody, and 1.0 serves v1beta1."""
    assert result_of(CHECK, "1.0", packaged("karpenter.sh/v1beta1 NodePool"), start="0.37.8") == GOOD


def test_it_is_asked_from_the_conversion_on():
    assert asked_hops(CHECK)[0] == "1.0"


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    found = result_without(CHECK, "1.1+", a_cluster("1.0.14", kubernetes="1.30"), part=part)
    assert found == ("unknown", f"{part} could not be read: forbidden")


def test_the_remedy_is_in_the_language_of_the_tool():
    labels = {"kustomize.toolkit.fluxcd.io/name": "p"}
    found = remedies(CHECK, "1.1+", written(("kustomize-controller", "karpenter.sh/v1beta1"), labels=labels))
    assert [remedy.how for remedy in found] == ["flux", "kubectl"]
    edit, then = found[0].text.splitlines()
    assert edit.endswith("write every NodePool and EC2NodeClass as v1 in one commit, before the upgrade")
    assert then == "# Then flux resume kustomization p && flux reconcile kustomization p --with-source"


def applied(version: str):
    """What is kept of the text that kubectl applied last."""
    found = pool("general", ON_DEMAND, node_class="default", version="v1")
    found["metadata"]["annotations"] = {LAST_APPLIED: version}
    return a_cluster("1.0.14", kubernetes="1.30").with_docs(found)


def test_a_file_of_old_that_kubectl_applied():
    path = f"metadata.annotations[{LAST_APPLIED}]"
    wanted = "v1 in the file that is applied"
    row = Evidence(kind="NodePool", name="general", path=path, seen="karpenter.sh/v1beta1", wanted=wanted)
    assert result_of(CHECK, "1.1+", applied("karpenter.sh/v1beta1")) == (
        "fail",
        "1 object is still applied as v1beta1",
        (row,),
    )


@pytest.mark.parametrize("version", ["karpenter.sh/v1", ""])
def test_a_file_of_now_or_none_that_can_be_read(version):
    assert result_of(CHECK, "1.1+", applied(version)) == GOOD
