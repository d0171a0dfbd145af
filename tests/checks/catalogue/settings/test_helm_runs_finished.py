from migrations_app.checks.base import Evidence
from migrations_app.inventory.objects.karpenter import HelmRelease
from tests.builders.clusters import a_cluster, finding_of, remedies, result_of, result_without

CHECK = "helm_runs_finished"
GOOD = ("pass", "The last run of Helm has succeeded", ())


def recorded(unfinished: str = ""):
    record = HelmRelease(
        name="karpenter", namespace="kube-system", revision=3, status="deployed", chart="karpenter",
        chart_version="0.37.8", app_version="0.37.8", config={}, defaults={}, crds=[], unfinished=unfinished,
    )  # fmt: skip
    return a_cluster().without("helm_releases").with_items("helm_releases", record)


def test_nothing_is_under_way():
    assert result_of(CHECK, "1.0", recorded()) == GOOD


def test_a_run_that_was_stopped():
    place = {"kind": "HelmRelease", "namespace": "kube-system", "name": "karpenter"}
    row = Evidence(**place, path="info.status", seen="pending-upgrade", wanted="deployed")
    cluster = recorded("pending-upgrade")
    assert result_of(CHECK, "1.0", cluster) == ("fail", "1 Helm release has a run that failed or did not end", (row,))
    (given,) = remedies(CHECK, "1.0", cluster)
    assert "helm -n kube-system history karpenter --max 5" in given.text
    assert "helm rollback" in given.text


def test_a_run_that_failed():
    """As helm upgrade --wait leaves it where the new pods do not start."""
    status, _, (row,) = result_of(CHECK, "1.0", recorded("failed"))
    assert (status, row.seen) == ("fail", "failed")
    (given,) = remedies(CHECK, "1.0", recorded("failed"))
    assert given.text.splitlines()[1:3] == [
        "# For a person: upgrade release karpenter again once the cause is gone, or roll it back with helm rollback",
        "# what failed stands in its description and in the events",
    ]


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
