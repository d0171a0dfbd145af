import pytest

from migrations_app.checks.base import Evidence
from migrations_app.samples.kubernetes_objects import doc, meta
from tests.builders.clusters import a_cluster, reads, remedies, result_of, result_without

CHECK = "hook_jobs_finished"


def with_job(name: str = "karpenter-post-install-hook", **status: int):
    return a_cluster().with_docs(doc("batch/v1", "Job", metadata=meta(name, "kube-system"), spec={}, status=status))


def test_it_ended_well():
    assert result_of(CHECK, "1.0", with_job(succeeded=1, failed=2)) == ("pass", "Every hook Job has succeeded", ())


@pytest.mark.parametrize(
    ("status", "seen"), [({"failed": 3}, "3 pods failed"), ({}, "still running, or never started")]
)
def test_it_did_not(status, seen):
    row = Evidence(
        kind="Job",
        namespace="kube-system",
        name="karpenter-post-install-hook",
        path="status.succeeded",
        seen=seen,
        wanted="1, or the next patch, which has no such Job",
    )
    assert result_of(CHECK, "1.0", with_job(**status)) == ("fail", "1 hook Job has not succeeded", (row,))


@pytest.mark.parametrize(
    "labels", [{"app.kubernetes.io/name": "karpenter"}, {"helm.sh/chart": "karpenter-1.0.0"}], ids=["name", "override"]
)
def test_a_release_of_another_name(labels):
    job = meta("scaler-post-install-hook", "kube-system", labels=labels)
    found = result_of(CHECK, "1.0", a_cluster().with_docs(doc("batch/v1", "Job", metadata=job, spec={}, status={})))
    assert found[:2] == ("fail", "1 hook Job has not succeeded")


@pytest.mark.parametrize("cluster", [a_cluster(), with_job("other"), with_job("vault-post-install-hook")])
def test_without_such_a_job_there_is_nothing_to_ask(cluster):
    assert result_of(CHECK, "1.0", cluster) == ("not_applicable", "no Job of a hook is there", ())


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "1.0", a_cluster(), part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_the_remedy_takes_the_job_away():
    assert remedies(CHECK, "1.0", with_job())[0].text.splitlines()[1:] == [
        "kubectl -n kube-system logs job/karpenter-post-install-hook --tail=20",
        "kubectl -n kube-system delete job karpenter-post-install-hook",
    ]
