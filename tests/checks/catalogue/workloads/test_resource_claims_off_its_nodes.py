import pytest

from migrations_app.checks.base import Evidence
from migrations_app.samples.karpenter_objects import Launched
from migrations_app.samples.kubernetes_objects import containers, doc, meta, template, workload
from tests.builders.clusters import a_cluster, asked_hops, finding_of, reads, remedies, result_of, result_without
from tests.builders.newest import NEWEST_MINOR
from tests.builders.pods import STAYS, bare, is_shell, pods
from tests.builders.pools import a_claim

CHECK = "resource_claims_off_its_nodes"
GOOD = ("pass", "No pod with a resource claim needs a node of Karpenter", ())
NONE = ("not_applicable", "no pod names a ResourceClaim", ())
CLAIMS = {"resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "one-gpu"}]}
NODE = Launched(pool="web", number=1, cluster="test", kubelet="v1.30.4").node
WANTED = "absent, nodes of a node group, or IGNORE_DRA_REQUESTS=false"


def on(version, *docs, **env):
    env = {"CLUSTER_NAME": "test"} | env
    return a_cluster(version, kubernetes="1.30", env=env).with_docs(*a_claim(), *docs)


def a_row(seen, count=1):
    return Evidence(
        kind="Deployment",
        namespace="shop",
        name="web",
        path="spec.resourceClaims",
        seen=seen,
        wanted=WANTED,
        count=count,
    )


@pytest.mark.parametrize(
    ("docs", "found"),
    [
        (pods(nodes=(NODE,)), NONE),
        (pods("DaemonSet", nodes=(NODE,), **CLAIMS), NONE),
        (pods(nodes=(STAYS,), **CLAIMS), GOOD),
    ],
)
def test_pods_that_need_no_node_of_karpenter(docs, found):
    assert result_of(CHECK, NEWEST_MINOR, on("1.3.8", *docs)) == found


def test_pods_on_its_nodes_and_without_one():
    found = result_of(CHECK, NEWEST_MINOR, on("1.3.8", *pods(nodes=(NODE,), count=2, **CLAIMS)))
    assert found == ("fail", "2 pods with resource claims get no node", (a_row(f"present, on {NODE}", 2),))
    pending = pods(nodes=(NODE,), **CLAIMS)
    for pod in pending:
        pod["spec"].pop("nodeName", None)
    found = result_of(CHECK, NEWEST_MINOR, on("1.3.8", *pending))
    assert found == ("fail", "1 pod with a resource claim gets no node", (a_row("present, on no node yet"),))


def idle(kind: str, **spec):
    """A workload without pods: scaled to none, or a CronJob between its Jobs."""
    made = template({"app": "web"}, {"containers": containers("web", "web:1")} | spec)
    if kind == "CronJob":
        return doc("batch/v1", kind, metadata=meta("web", "shop"), spec={"jobTemplate": {"spec": {"template": made}}})
    return workload(kind, "web", namespace="shop", replicas=0, pod=made)


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "CronJob"])
def test_a_template_without_pods_is_a_question(kind):
    finding = finding_of(CHECK, NEWEST_MINOR, on("1.3.8", idle(kind, **CLAIMS)))
    words = f"{kind} shop/web names ResourceClaims and has no pod now: see that its pods need no node of Karpenter"
    assert (finding.status, finding.severity, finding.summary) == ("manual", "warning", words)
    assert result_of(CHECK, NEWEST_MINOR, on("1.3.8", idle(kind))) == NONE


def test_a_template_with_pods_is_judged_by_them_and_a_daemon_set_needs_no_node():
    made = template({"app": "web"}, {"containers": containers("web", "web:1")} | CLAIMS)
    running = workload("Deployment", "web", namespace="shop", replicas=1, pod=made)
    assert result_of(CHECK, NEWEST_MINOR, on("1.3.8", running, *pods(nodes=(STAYS,), **CLAIMS))) == GOOD
    assert result_of(CHECK, NEWEST_MINOR, on("1.3.8", idle("DaemonSet", **CLAIMS))) == NONE


def test_a_pod_of_no_workload_is_named_itself():
    alone = bare("alone", **CLAIMS)
    alone["spec"].pop("nodeName")
    (row,) = result_of(CHECK, NEWEST_MINOR, on("1.3.8", alone))[2]
    assert (row.kind, row.namespace, row.name, row.count) == ("Pod", "shop", "alone", 1)


def test_the_switch_of_the_controller():
    docs = pods(nodes=(NODE,), **CLAIMS)
    assert result_of(CHECK, NEWEST_MINOR, on("1.3.8", *docs, IGNORE_DRA_REQUESTS="false")) == GOOD
    assert result_of(CHECK, NEWEST_MINOR, on("1.3.8", *docs, IGNORE_DRA_REQUESTS="true"))[0] == "fail"
    hidden = on("1.3.8", *docs).with_hidden("IGNORE_DRA_REQUESTS")
    words = ("unknown", "IGNORE_DRA_REQUESTS may be taken from an object that is not read", ())
    assert result_of(CHECK, NEWEST_MINOR, hidden) == words


def test_it_is_asked_where_pods_begin_to_be_ignored():
    assert asked_hops(CHECK)[0] == "1.7"
    docs = pods(nodes=(NODE,), **CLAIMS)
    words = ("not_applicable", "the upgrade does not enter 1.7", ())
    assert result_of(CHECK, NEWEST_MINOR, on("1.8.8", *docs)) == words
    assert finding_of(CHECK, NEWEST_MINOR, on("1.3.8", *docs)).severity == "warning"


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    found = result_without(CHECK, NEWEST_MINOR, on("1.3.8"), part=part)
    assert found == ("unknown", f"{part} could not be read: forbidden")


def test_the_remedy_is_a_choice():
    (remedy,) = remedies(CHECK, NEWEST_MINOR, on("1.3.8", *pods(nodes=(NODE,), **CLAIMS)))
    assert "give shop/web nodes that Karpenter does not launch" in remedy.text
    assert "IGNORE_DRA_REQUESTS to 'false' in controller.env" in remedy.change.what
    assert "the chart writes nothing for settings.ignoreDRARequests: false" in remedy.text
    assert is_shell(remedy.text)
