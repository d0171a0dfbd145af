import pytest

from migrations_app.checks.base import Evidence
from migrations_app.checks.changes import leaves
from migrations_app.samples.installation import Install, controller
from migrations_app.samples.karpenter_objects import pool
from migrations_app.samples.kubernetes_objects import containers, doc, meta, pods_of, template, workload
from tests.builders.clusters import (
    NODE,
    a_cluster,
    an_empty_cluster,
    asked_hops,
    finding_of,
    reads,
    remedies,
    result_of,
    result_without,
)
from tests.builders.newest import NEWEST_MINOR
from tests.builders.patches import patch_words

CHECK = "workloads_select_current_labels"
GOOD = ("pass", "No workload selects karpenter.sh/provisioner-name", ())
OLD, NEW = "karpenter.sh/provisioner-name", "karpenter.sh/nodepool"


def with_placement(placement, *, kind: str = "Deployment", pods: int = 3, **labels):
    made = template({"app": "web"}, {"containers": containers("web", "web:1")} | placement)
    found = workload(kind, "web", namespace="shop", replicas=pods, pod=made, labels=labels)
    cluster = a_cluster("0.32.10", kubernetes="1.28")
    return cluster.with_docs(found, *pods_of(found, ["n1"], count=pods))


def a_row(path: str, seen: str, wanted: str = NEW, *, kind: str = "Deployment") -> Evidence:
    return Evidence(kind=kind, namespace="shop", name="web", path=path, seen=seen, wanted=wanted, count=3)


def required(*rows):
    expressions = [{"key": key, "operator": operator, "values": list(values)} for key, operator, *values in rows]
    terms = {"nodeSelectorTerms": [{"matchExpressions": expressions}]}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}}


def either(*rows):
    """One term for each row, of which a node has to satisfy one."""
    terms = [
        {"matchExpressions": [{"key": key, "operator": operator, "values": values}]} for key, operator, *values in rows
    ]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    return {"affinity": {"nodeAffinity": required}}


def preferred(*rows):
    expressions = [{"key": key, "operator": operator, "values": list(values)} for key, operator, *values in rows]
    soft = [{"weight": 1, "preference": {"matchExpressions": expressions}}]
    return {"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": soft}}}


REQUIRED = "spec.template.spec.affinity.nodeAffinity.required"


@pytest.mark.parametrize(
    "placement",
    [
        {},
        {"nodeSelector": {NEW: "web"}},
        required((NEW, "In", "web")),
        required((OLD, "DoesNotExist"), (NEW, "DoesNotExist")),
    ],
)
def test_current_labels_or_both_avoided(placement):
    assert result_of(CHECK, "0.33+", with_placement(placement)) == GOOD


def a_job(**status):
    made = template({"app": "web"}, {"containers": containers("web", "web:1"), "nodeSelector": {OLD: "web"}})
    job = doc("batch/v1", "Job", metadata=meta("nightly-1", "shop"), spec={"template": made}, status=status)
    return a_cluster("0.32.10", kubernetes="1.28").with_docs(job)


@pytest.mark.parametrize("ending", ["Complete", "Failed"])
def test_the_history_of_a_cron_job_starts_no_pods(ending):
    assert result_of(CHECK, "0.33+", a_job(conditions=[{"type": ending, "status": "True"}])) == GOOD
    assert result_of(CHECK, "0.33+", a_job(active=1))[0] == "fail"


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "DaemonSet"])
def test_a_node_selector(kind):
    row = a_row("spec.template.spec.nodeSelector", f"{OLD} web", kind=kind)
    found = result_of(CHECK, "0.33+", with_placement({"nodeSelector": {OLD: "web"}}, kind=kind))
    assert found == ("fail", "3 pods select the removed label karpenter.sh/provisioner-name", (row,))


@pytest.mark.parametrize(
    ("placement", "row"),
    [
        (required((OLD, "In", "a", "b")), a_row(REQUIRED, f"{OLD} In a b")),
        (required((OLD, "NotIn", "a")), a_row(REQUIRED, f"{OLD} NotIn a")),
        (required((OLD, "NotIn", "a"), (NEW, "NotIn", "a")), a_row(REQUIRED, f"{OLD} NotIn a")),
        (required((OLD, "NotIn", "a"), (NEW, "DoesNotExist")), a_row(REQUIRED, f"{OLD} NotIn a")),
        (either((OLD, "In", "a"), (NEW, "In", "a")), a_row(REQUIRED, f"{OLD} In a")),
        (either((NEW, "In", "a"), (OLD, "Exists")), a_row(REQUIRED, f"{OLD} Exists")),
        (preferred((OLD, "In", "a")), a_row(REQUIRED.replace("required", "preferred"), f"{OLD} In a")),
        (required((OLD, "DoesNotExist")), a_row(REQUIRED, f"{OLD} DoesNotExist", f"{NEW} DoesNotExist, beside it")),
        (
            {"topologySpreadConstraints": [{"topologyKey": OLD, "maxSkew": 1}]},
            a_row("spec.template.spec.topologySpreadConstraints", OLD),
        ),
    ],
)
def test_affinities_and_spread_keys(placement, row):
    assert result_of(CHECK, "0.33+", with_placement(placement))[2] == (row,)


@pytest.mark.parametrize("placement", [either((OLD, "In", "a"), (NEW, "In", "a")), preferred((OLD, "In", "a"))])
def test_karpenter_launches_no_node_for_any_term_with_the_label(placement):
    """Its provisioner validates every term before it relaxes one, and ignores the pod
    (kubernetes-sigs/karpenter@v0.33.0:pkg/controllers/provisioning/provisioner.go, `validateAffinity`).
    """
    assert finding_of(CHECK, "0.33+", with_placement(placement)).severity == "blocker"


def near(kind: str, how: str):
    """A rule about pods of the same value of the label: `how` is required or preferred."""
    term = {"topologyKey": OLD, "labelSelector": {}}
    soft = [{"weight": 1, "podAffinityTerm": term}]
    rows = [term] if how == "required" else soft
    return {"affinity": {kind: {f"{how}DuringSchedulingIgnoredDuringExecution": rows}}}


def spread(when: str):
    return {"topologySpreadConstraints": [{"topologyKey": OLD, "maxSkew": 1, "whenUnsatisfiable": when}]}


SOFT = [near("podAffinity", "preferred"), near("podAntiAffinity", "preferred"), spread("ScheduleAnyway")]
HARD = [near("podAffinity", "required"), near("podAntiAffinity", "required"), spread("DoNotSchedule")]


@pytest.mark.parametrize("placement", SOFT)
def test_a_preference_between_pods_is_given_up_and_only_warns(placement):
    found = finding_of(CHECK, "0.33+", with_placement(placement))
    assert (found.status, found.severity) == ("fail", "warning")


@pytest.mark.parametrize("placement", HARD)
@pytest.mark.parametrize("kind", ["Deployment", "DaemonSet"])
def test_a_requirement_between_pods_blocks(placement, kind):
    assert finding_of(CHECK, "0.33+", with_placement(placement, kind=kind)).severity == "blocker"


def test_a_preference_beside_a_selector_blocks():
    both = spread("ScheduleAnyway") | {"nodeSelector": {OLD: "web"}}
    assert finding_of(CHECK, "0.33+", with_placement(both)).severity == "blocker"


@pytest.mark.parametrize("placement", SOFT)
def test_a_preference_has_no_effect_on_pods_that_each_node_has(placement):
    assert result_of(CHECK, "0.33+", with_placement(placement, kind="DaemonSet")) == GOOD


@pytest.mark.parametrize(("hop", "expected"), [("0.33+", ("fail", "warning")), (NEWEST_MINOR, ("pass", "warning"))])
def test_up_to_1_1_new_nodes_may_be_too_small_for_a_daemon_set_that_prefers_nodes(hop, expected):
    found = finding_of(CHECK, hop, with_placement(preferred((OLD, "In", "a")), kind="DaemonSet"))
    assert (found.status, found.severity) == expected


@pytest.mark.parametrize("version", ["0.30.0", "0.31.5", "0.32.10"])
def test_the_rule_that_the_chart_renders_is_not_the_users(version):
    assert result_of(CHECK, "0.33+", a_cluster(version, kubernetes="1.27")) == GOOD


def affinity(*keys):
    return required(*((key, "DoesNotExist") for key in keys))["affinity"]


def an_override(version: str, *keys: str):
    """The controller with a rule of those keys, which no values tell of."""
    install = Install(cluster="test", version=version)
    docs = [one for one in controller(install, [NODE]) if one["kind"] != "Pod"]
    for one in docs:
        if one["kind"] == "Deployment":
            one["spec"]["template"]["spec"]["affinity"] = affinity(*keys)
    return an_empty_cluster().with_kubernetes("v1.28.1").with_docs(*docs)


OWN = Evidence(
    kind="Deployment",
    namespace="kube-system",
    name="karpenter",
    path=REQUIRED,
    seen=f"{OLD} DoesNotExist",
    wanted=f"{NEW} DoesNotExist, beside it",
)


@pytest.mark.parametrize(("hop", "version"), [("0.33+", "0.32.10"), ("1.0", "0.35.12")])
def test_a_rule_of_the_controller_that_its_chart_does_not_render(hop, version):
    assert result_of(CHECK, hop, an_override(version, OLD)) == (
        "fail",
        "1 pod selects the removed label karpenter.sh/provisioner-name",
        (OWN,),
    )
    assert result_of(CHECK, hop, an_override(version, OLD, NEW)) == GOOD


def test_a_rule_that_values_give_outlives_the_chart():
    given = {"affinity": affinity(OLD)}
    assert result_of(CHECK, "0.33+", an_override("0.31.5", OLD).with_values(given, version="0.31.5"))[2] == (OWN,)
    apart = {"affinity": {"podAntiAffinity": {}}}
    assert result_of(CHECK, "0.33+", an_override("0.31.5", OLD).with_values(apart, version="0.31.5")) == GOOD


def test_it_blocks_where_the_label_goes_and_is_not_asked_before():
    cluster = with_placement({"nodeSelector": {OLD: "web"}})
    assert [finding_of(CHECK, hop, cluster).severity for hop in ("0.33+", "1.0")] == ["blocker", "warning"]
    assert "0.32" not in asked_hops(CHECK)


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "1.0", a_cluster(), part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_the_remedy_patches_a_selector_and_edits_the_rest():
    (selector,) = remedies(CHECK, "0.33+", with_placement({"nodeSelector": {OLD: "web"}}))
    task = f"spec.template.spec.nodeSelector: {NEW}, with the NodePool that takes over from web"
    assert selector.text == f"kubectl -n shop edit deployment web  # {task}"
    taken = pool("web", node_class="d", version="v1beta1")
    (known,) = remedies(CHECK, "0.33+", with_placement({"nodeSelector": {OLD: "web"}}).with_docs(taken))
    old, new = (f"/spec/template/spec/nodeSelector/{key.replace('/', '~1')}" for key in (OLD, NEW))
    assert known.text == f"kubectl -n shop patch deployment web {patch_words((old, 'web', None), (new, None, 'web'))}"
    (step,) = leaves(known.change)
    assert step.undo.body["spec"]["template"]["spec"]["nodeSelector"] == {OLD: "web", NEW: None}
    assert step.needs == ("pools_admit_provisioner_pods",)
    (other,) = remedies(CHECK, "0.33+", with_placement(required((OLD, "In", "a"))))
    assert other.text == f"kubectl -n shop edit deployment web  # {REQUIRED}: {NEW}"


def test_the_only_pool_takes_over_whatever_its_name_is():
    cluster = with_placement({"nodeSelector": {OLD: "web"}})
    one, two = (pool(name, node_class="d", version="v1beta1") for name in ("general", "batch"))
    (known,) = remedies(CHECK, "0.33+", cluster.with_docs(one))
    (step,) = leaves(known.change)
    assert step.body["spec"]["template"]["spec"]["nodeSelector"] == {OLD: None, NEW: "general"}
    (open_question,) = remedies(CHECK, "0.33+", with_placement({"nodeSelector": {OLD: "web"}}).with_docs(one, two))
    assert "with the NodePool that takes over from web" in open_question.text


def test_the_remedy_follows_the_manager_of_the_workload():
    labels = {"argocd.argoproj.io/instance": "shop"}
    found = remedies(CHECK, "0.33+", with_placement({"nodeSelector": {OLD: "web"}}, **labels))
    assert found[0].how == "argocd"
    assert found[0].text.splitlines() == [
        f"# In the source of the Argo CD Application (shop): put {NEW} in the place of {OLD}",
        "# Then argocd app sync shop",
    ]
