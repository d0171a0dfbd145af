import pytest

from migrations_app.checks.base import Evidence
from migrations_app.samples.karpenter_objects import ON_DEMAND, Launched, claim, pool
from migrations_app.samples.kubernetes_objects import containers, doc, meta, pods_of, template, workload
from tests.builders.clusters import a_cluster, finding_of, reads, remedies, result_of, result_without

CHECK = "retired_annotations_replaced"
GOOD = ("pass", "No pod, NodePool or node relies on a removed annotation", ())
EVICT, CONSOLIDATE, DISRUPT = (f"karpenter.sh/do-not-{verb}" for verb in ("evict", "consolidate", "disrupt"))
LAUNCHED = Launched(pool="web", number=1, cluster="test", kubelet="v1.29.4")


def with_workload(annotations, *, kind: str = "Deployment", pods: int = 4, **labels):
    made = template({"app": "web"}, {"containers": containers("web", "web:1")}, annotations=annotations)
    found = workload(kind, "web", namespace="shop", replicas=pods, pod=made, labels=labels)
    return a_cluster().with_docs(found, *pods_of(found, ["n1"], count=pods))


def a_row(kind: str, name: str, path: str, *, namespace: str = "", count: int = 1) -> Evidence:
    wanted = f"{DISRUPT}: true"
    return Evidence(kind=kind, namespace=namespace, name=name, path=path, seen="true", wanted=wanted, count=count)


def test_nothing_is_annotated():
    assert result_of(CHECK, "1.0", with_workload({})) == GOOD


@pytest.mark.parametrize(
    "annotations",
    [{DISRUPT: "true"}, {DISRUPT: "true", EVICT: "true"}, {EVICT: "false"}, {EVICT: "yes"}],
)
def test_the_current_key_or_no_protection(annotations):
    assert result_of(CHECK, "1.0", with_workload(annotations)) == GOOD


def test_a_template_and_its_pods_are_one_row_with_the_number_of_pods():
    row = a_row("Deployment", "web", f"spec.template.metadata.annotations[{EVICT}]", namespace="shop", count=4)
    found = result_of(CHECK, "1.0", with_workload({EVICT: "true"}))
    assert found == ("fail", "4 objects rely on a removed annotation", (row,))


def with_label(key, annotations):
    """A workload whose template has the key as a label, which no release reads."""
    made = template({"app": "web", key: "true"}, {"containers": containers("web", "web:1")}, annotations=annotations)
    found = workload("Deployment", "web", namespace="shop", replicas=4, pod=made)
    return a_cluster().with_docs(found, *pods_of(found, ["n1"], count=4))


def test_a_label_protects_nothing_and_is_not_relied_on():
    assert result_of(CHECK, "1.0", with_label(EVICT, {})) == GOOD


def test_a_label_does_not_replace_the_annotation():
    row = a_row("Deployment", "web", f"spec.template.metadata.annotations[{EVICT}]", namespace="shop", count=4)
    found = result_of(CHECK, "1.0", with_label(DISRUPT, {EVICT: "true"}))
    assert found == ("fail", "4 objects rely on a removed annotation", (row,))


@pytest.mark.parametrize("ending", ["Complete", "Failed"])
def test_a_job_that_has_ended_has_nothing_left_to_protect(ending):
    made = template({"app": "web"}, {"containers": containers("web", "web:1")}, annotations={EVICT: "true"})
    over = {"conditions": [{"type": ending, "status": "True"}]}
    job = doc("batch/v1", "Job", metadata=meta("nightly-1", "shop"), spec={"template": made}, status=over)
    assert result_of(CHECK, "1.0", a_cluster().with_docs(job)) == GOOD


def test_a_pod_without_an_owner():
    pod = doc(
        "v1", "Pod", metadata=meta("naked", "shop", annotations={EVICT: "true"}), spec={}, status={"phase": "Running"}
    )
    row = a_row("Pod", "naked", f"metadata.annotations[{EVICT}]", namespace="shop")
    found = result_of(CHECK, "1.0", a_cluster().with_docs(pod))
    assert found == ("fail", "1 object relies on a removed annotation", (row,))


def test_a_finished_pod_needs_no_protection():
    pod = doc(
        "v1", "Pod", metadata=meta("done", "shop", annotations={EVICT: "true"}), spec={}, status={"phase": "Succeeded"}
    )
    assert result_of(CHECK, "1.0", a_cluster().with_docs(pod)) == GOOD


def test_a_node():
    found, node = claim(LAUNCHED, node_class="default", version="v1beta1")
    node["metadata"]["annotations"] = {CONSOLIDATE: "true"}
    row = a_row("Node", LAUNCHED.node, f"metadata.annotations[{CONSOLIDATE}]")
    assert result_of(CHECK, "1.0", a_cluster().with_docs(found, node))[2] == (row,)


def test_a_claim():
    found, node = claim(LAUNCHED, node_class="default", version="v1beta1", annotations={CONSOLIDATE: "true"})
    row = a_row("NodeClaim", LAUNCHED.claim, f"metadata.annotations[{CONSOLIDATE}]")
    assert result_of(CHECK, "1.0", a_cluster().with_docs(found, node))[2] == (row,)
    (remedy,) = remedies(CHECK, "1.0", a_cluster().with_docs(found, node))
    command = f"kubectl annotate nodeclaims.karpenter.sh {LAUNCHED.claim} karpenter.sh/do-not-disrupt=true --overwrite"
    assert remedy.text == command


@pytest.mark.parametrize(
    ("annotations", "rows"),
    [
        (
            {CONSOLIDATE: "true"},
            (a_row("NodePool", "web", f"spec.template.metadata.annotations[{CONSOLIDATE}]"),),
        ),
        ({CONSOLIDATE: "true", DISRUPT: "true"}, ()),
        ("odd", ()),
    ],
)
def test_the_template_of_a_pool(annotations, rows):
    made = pool("web", ON_DEMAND, node_class="default", version="v1beta1")
    made["spec"]["template"]["metadata"] = {"annotations": annotations}
    assert result_of(CHECK, "1.0", a_cluster().with_docs(made))[2] == rows


def test_it_blocks_where_the_annotations_go():
    cluster = with_workload({EVICT: "true"})
    assert [finding_of(CHECK, hop, cluster).severity for hop in ("1.0", "1.1+")] == ["blocker", "warning"]
    on_0_32 = a_cluster("0.32.10", kubernetes="1.28")
    assert finding_of(CHECK, "0.33+", on_0_32).severity == "info"


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "1.0", a_cluster(), part=part) == ("unknown", f"{part} could not be read: forbidden")


PATCH = '\'{"spec":{"template":{"metadata":{"annotations":{"karpenter.sh/do-not-disrupt":"true"}}}}}\''


def test_the_remedy_follows_the_manager_of_the_workload():
    by_hand = remedies(CHECK, "1.0", with_workload({EVICT: "true"}))
    command = f"kubectl -n shop patch deployment web --type=merge -p {PATCH}"
    restarts = "# It makes the pods anew, the protected ones too: wait until their work may stop"
    assert [(one.how, one.text) for one in by_hand] == [("kubectl", f"{restarts}\n{command}")]
    by_flux = remedies(CHECK, "1.0", with_workload({EVICT: "true"}, **{"kustomize.toolkit.fluxcd.io/name": "shop"}))
    assert [one.how for one in by_flux] == ["flux", "kubectl"]


def test_the_remedy_marks_pods_and_nodes_as_they_are():
    pod = doc(
        "v1", "Pod", metadata=meta("naked", "shop", annotations={EVICT: "true"}), spec={}, status={"phase": "Running"}
    )
    (remedy,) = remedies(CHECK, "1.0", a_cluster().with_docs(pod))
    assert remedy.text == "kubectl -n shop annotate pod naked karpenter.sh/do-not-disrupt=true --overwrite"
