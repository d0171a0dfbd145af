import pytest
from msgspec.structs import replace

from migrations_app.checks.base import Evidence
from migrations_app.inventory.objects.karpenter import HelmRelease
from migrations_app.readiness.next_step import next_step
from migrations_app.samples.kubernetes_objects import doc, meta
from tests.builders.clusters import a_cluster, finding_of, remedies, result_of, result_without

CHECK = "helm_runs_finished"
GOOD = ("pass", "The last run of Helm has succeeded", ())


RECORD = HelmRelease(
    name="karpenter", namespace="kube-system", revision=3, status="deployed", chart="karpenter",
    chart_version="0.37.8", app_version="0.37.8", config={}, defaults={}, crds=[],
)  # fmt: skip


def recorded(unfinished: str = "", *, status: str = "deployed"):
    record = replace(RECORD, status=status, unfinished=unfinished)
    return a_cluster().without("helm_releases").with_items("helm_releases", record)


def test_nothing_is_under_way():
    assert result_of(CHECK, "1.0", recorded()) == GOOD


def test_a_run_that_was_stopped():
    place = {"kind": "HelmRelease", "namespace": "kube-system", "name": "karpenter"}
    row = Evidence(**place, path="info.status", seen="pending-upgrade", wanted="deployed")
    cluster = recorded("pending-upgrade")
    told = "The last run of Helm release karpenter is pending-upgrade"
    assert result_of(CHECK, "1.0", cluster) == ("fail", told, (row,))
    (given,) = remedies(CHECK, "1.0", cluster)
    lines = [line for line in given.text.splitlines() if not line.startswith("#")]
    assert lines == [
        "helm -n kube-system history karpenter --max 5",
        "kubectl -n kube-system get secrets -l owner=helm,name=karpenter --sort-by=.metadata.creationTimestamp",
    ]
    assert "roll it back to revision 3, with helm rollback" in given.text


@pytest.mark.parametrize(
    ("unfinished", "status", "task"),
    [
        ("pending-rollback", "deployed", "roll it back to revision 3, with helm rollback"),
        ("pending-upgrade", "failed", "roll it back to the last revision that ran, with helm rollback"),
        ("pending-install", "pending-install", "there is no revision to roll it back to"),
        ("uninstalling", "uninstalling", "find out who uninstalls release karpenter"),
    ],
)
def test_each_run_ends_in_a_way_of_its_own(unfinished, status, task):
    (given,) = remedies(CHECK, "1.0", recorded(unfinished, status=status))
    assert task in given.text
    assert ("helm rollback" in given.text) == ("helm rollback" in task)


PENDING = ("pending-install", "pending-upgrade", "pending-rollback")


@pytest.mark.parametrize("status", [*PENDING, "uninstalling"])
def test_helm_refuses_the_upgrade_which_blocks(status):
    assert finding_of(CHECK, "1.0", recorded(status)).severity == "blocker"


def test_helm_goes_on_after_a_failure_which_warns():
    assert finding_of(CHECK, "1.0", recorded("failed")).severity == "warning"


def test_the_next_step_names_the_release_and_its_status():
    step = next_step("blocked", [finding_of(CHECK, "1.0", recorded("pending-upgrade"))], release="1.0.14", cluster="a")
    told = "The last run of Helm release karpenter is pending-upgrade"
    assert step == ("Not ready: 1 blocker", told, CHECK, 0)


def flux(name: str = "karpenter", *, version: str = "v2"):
    source = {"kind": "HelmRepository", "name": "karpenter"}
    spec = {"chart": {"spec": {"chart": name, "version": "0.37.8", "sourceRef": source}}}
    return doc(f"helm.toolkit.fluxcd.io/{version}", "HelmRelease", metadata=meta(name, "flux-system"), spec=spec)


def argo(name: str = "karpenter", *, server: str = "https://kubernetes.default.svc"):
    source = {"repoURL": "public.ecr.aws/karpenter", "chart": name, "targetRevision": "0.37.8"}
    spec = {"destination": {"server": server, "namespace": "kube-system"}, "source": source}
    return doc("argoproj.io/v1alpha1", "Application", metadata=meta(name, "argocd"), spec=spec)


@pytest.mark.parametrize(
    ("delivery", "status", "severity"),
    [
        *((flux(), status, "warning") for status in PENDING),
        (flux(), "uninstalling", "blocker"),
        *((argo(), status, "warning") for status in (*PENDING, "uninstalling")),
        (argo(server="https://other.example"), "pending-upgrade", "blocker"),
        (flux("karpenter-crd"), "pending-upgrade", "blocker"),
        (flux(version="v2beta2"), "pending-upgrade", "warning"),
        (flux(version="v2beta1"), "pending-upgrade", "blocker"),
    ],
)
def test_the_tool_that_delivers_the_chart_decides(delivery, status, severity):
    """helm-controller ends a stopped run by itself, and Argo CD asks no record of Helm."""
    assert finding_of(CHECK, "1.0", recorded(status).with_docs(delivery)).severity == severity


def test_the_label_of_flux_tells_no_version_of_it():
    marks = {"helm.toolkit.fluxcd.io/name": "karpenter", "helm.toolkit.fluxcd.io/namespace": "flux-system"}
    cluster = recorded("pending-upgrade").unseen("deliveries")
    (workload,) = cluster.build().controller.items
    marked = replace(workload, metadata=replace(workload.metadata, labels={**workload.metadata.labels, **marks}))
    delivered = cluster.without("controller").with_items("controller", marked)
    assert finding_of(CHECK, "1.0", delivered).severity == "blocker"


def test_flux_delivers_the_controller_alone():
    crds = replace(RECORD, name="karpenter-crd", chart="karpenter-crd", unfinished="pending-upgrade")
    cluster = a_cluster().without("helm_releases").with_items("helm_releases", RECORD, crds).with_docs(flux())
    assert finding_of(CHECK, "1.0", cluster).severity == "blocker"


def test_a_release_that_a_controller_left_behind_only_warns():
    left = replace(RECORD, namespace="karpenter", unfinished="pending-upgrade")
    cluster = a_cluster().without("helm_releases").with_items("helm_releases", RECORD, left)
    assert finding_of(CHECK, "1.0", cluster).severity == "warning"


def test_the_release_of_the_crds_blocks_too():
    crds = replace(RECORD, name="karpenter-crd", chart="karpenter-crd", unfinished="pending-upgrade")
    cluster = a_cluster().without("helm_releases").with_items("helm_releases", RECORD, crds)
    found = finding_of(CHECK, "1.0", cluster)
    assert (found.severity, [row.name for row in found.evidence]) == ("blocker", ["karpenter-crd"])


def test_one_blocking_run_among_several_blocks():
    failed = replace(RECORD, name="karpenter-crd", chart="karpenter-crd", unfinished="failed")
    pending = replace(RECORD, unfinished="pending-upgrade")
    cluster = a_cluster().without("helm_releases").with_items("helm_releases", failed, pending)
    found = finding_of(CHECK, "1.0", cluster)
    assert (found.severity, found.summary) == ("blocker", "The last runs of 2 Helm releases have not succeeded")


def test_a_run_that_failed():
    """As helm upgrade --wait leaves it where the new pods do not start."""
    status, _, (row,) = result_of(CHECK, "1.0", recorded("failed"))
    assert (status, row.seen) == ("fail", "failed")
    (given,) = remedies(CHECK, "1.0", recorded("failed", status="failed"))
    assert (
        "upgrade release karpenter again once the cause is gone; if one ran before, helm rollback restores it"
        in given.text
    )


def test_without_records():
    found = result_of(CHECK, "1.0", a_cluster().without("helm_releases"))
    assert found == ("not_applicable", "no Helm release of Karpenter is recorded", ())


def test_unseen_is_unknown():
    assert result_without(CHECK, "1.0", recorded(), part="controller") == (
        "unknown",
        "controller could not be read: forbidden",
    )


def test_records_that_could_not_be_read_are_for_helm_to_tell():
    found = finding_of(CHECK, "1.0", a_cluster().unseen("helm_releases"))
    told = ("unknown", "info", "Helm's records could not be read (forbidden)")
    assert (found.status, found.severity, found.summary) == told
