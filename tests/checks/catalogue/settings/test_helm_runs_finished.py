import pytest

from migrations_app.checks.base import Evidence
from migrations_app.inventory.objects.karpenter import HelmRelease
from tests.builders.clusters import a_cluster, finding_of, remedies, result_of, result_without

CHECK = "helm_runs_finished"
GOOD = ("pass", "The last run of Helm has succeeded", ())


def recorded(unfinished: str = "", *, status: str = "deployed"):
    record = HelmRelease(
        name="karpenter", namespace="kube-system", revision=3, status=status, chart="karpenter",
        chart_version="0.37.8", app_version="0.37.8", config={}, defaults={}, crds=[], unfinished=unfinished,
    )  # fmt: skip
    return a_cluster().without("helm_releases").with_items("helm_releases", record)


def test_nothing_is_under_way():
    assert result_of(CHECK, "1.0", recorded()) == GOOD


def test_a_run_that_was_stopped():
    place = {"kind": "HelmRelease", "namespace": "kube-system", "name": "karpenter"}
    row = Evidence(**place, path="info.status", seen="pending-upgrade", wanted="deployed")
    cluster = recorded("pending-upgrade")
    assert result_of(CHECK, "1.0", cluster) == ("fail", "1 run of Helm failed or is unfinished", (row,))
    (given,) = remedies(CHECK, "1.0", cluster)
    lines = [line for line in given.text.splitlines() if not line.startswith("#")]
    assert lines == [
        "helm -n kube-system history karpenter --max 5",
        "kubectl -n kube-system get secrets -l owner=helm,name=karpenter --sort-by=.metadata.creationTimestamp",
    ]
    assert "take it back to revision 3, with helm rollback" in given.text


@pytest.mark.parametrize(
    ("unfinished", "status", "task"),
    [
        ("pending-rollback", "deployed", "take it back to revision 3, with helm rollback"),
        ("pending-upgrade", "failed", "take it back to the last revision that ran, with helm rollback"),
        ("pending-install", "pending-install", "there is nothing to take it back to"),
        ("uninstalling", "uninstalling", "find out who uninstalls release karpenter"),
    ],
)
def test_each_run_ends_in_a_way_of_its_own(unfinished, status, task):
    (given,) = remedies(CHECK, "1.0", recorded(unfinished, status=status))
    assert task in given.text
    assert ("helm rollback" in given.text) == ("helm rollback" in task)


def test_a_run_that_failed():
    """As helm upgrade --wait leaves it where the new pods do not start."""
    status, _, (row,) = result_of(CHECK, "1.0", recorded("failed"))
    assert (status, row.seen) == ("fail", "failed")
    (given,) = remedies(CHECK, "1.0", recorded("failed", status="failed"))
    assert (
        "upgrade release karpenter again once its cause is gone; if one ran before, helm rollback takes it back"
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
