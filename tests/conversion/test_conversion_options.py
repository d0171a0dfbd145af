"""Facts of a cluster or account beyond the manifests, and the options that the command line does not have."""

from typing import Any

import pytest

from migrations_app.conversion.convert import convert, generation_of
from migrations_app.conversion.node_template import placeholder_paths
from migrations_app.conversion.objects import KnownNames, Options, TargetVersion


def template(name: str = "blue", **spec: Any) -> dict[str, Any]:
    whole = {"subnetSelector": {"a": "b"}, "securityGroupSelector": {"a": "b"}, **spec}
    return {
        "apiVersion": "karpenter.k8s.aws/v1alpha1",
        "kind": "AWSNodeTemplate",
        "metadata": {"name": name},
        "spec": whole,
    }


def provisioner(name: str, **metadata: Any) -> dict[str, Any]:
    spec = {"providerRef": {"name": "blue"}, "ttlSecondsAfterEmpty": 1}
    return {
        "apiVersion": "karpenter.sh/v1alpha5",
        "kind": "Provisioner",
        "metadata": {"name": name, **metadata},
        "spec": spec,
    }


def pool(name: str, **template_spec: Any) -> dict[str, Any]:
    spec = {"template": {"spec": {"nodeClassRef": {"name": "blue"}, "requirements": [], **template_spec}}}
    return {"apiVersion": "karpenter.sh/v1beta1", "kind": "NodePool", "metadata": {"name": name}, "spec": spec}


def node_class(name: str = "blue") -> dict[str, Any]:
    spec = {
        "amiFamily": "AL2023",
        "role": "r",
        "subnetSelectorTerms": [{"id": "subnet-1"}],
        "securityGroupSelectorTerms": [{"id": "sg-1"}],
    }
    return {"apiVersion": "karpenter.k8s.aws/v1beta1", "kind": "EC2NodeClass", "metadata": {"name": name}, "spec": spec}


def codes(conversion: Any) -> set[str]:
    return {loss.code for loss in conversion.losses}


def test_role_seen_behind_the_profile() -> None:
    known = KnownNames(role_of_profile={"old": "seen-role", "global": "other"}, default_profile="global")
    result = convert([template(instanceProfile="old"), template("green")], known_names=known)
    assert [body["spec"]["role"] for body in result.objects] == ["seen-role", "other"]
    assert "node-role-placeholder" not in codes(result)


def test_given_role_beats_the_seen_one() -> None:
    known = KnownNames(role_of_profile={"old": "seen-role"})
    result = convert([template(instanceProfile="old")], Options(node_role="mine"), known_names=known)
    assert result.objects[0]["spec"]["role"] == "mine"


def test_placeholder_names_the_profile_to_look_up() -> None:
    result = convert([template(instanceProfile="old")])
    assert [loss.proposal for loss in result.losses if loss.code == "node-role-placeholder"] == [
        {"instanceProfile": "old"}
    ]
    assert list(placeholder_paths(result.objects[0])) == [("spec", "role")]


def test_placeholders_hide_nowhere() -> None:
    body = {"a": [{"b": "x ${KARPENTER_NODE_ROLE}"}], "c": "fine", "d": 3}
    assert list(placeholder_paths(body)) == [("a", 0, "b")]


def test_an_ipv6_cluster_is_told() -> None:
    assert "imds-ipv6" in codes(convert([template()], known_names=KnownNames(ipv6=True)))
    assert "imds-ipv6" not in codes(convert([template()], known_names=KnownNames(ipv6=False)))


def test_most_nodes_keep_the_class() -> None:
    bodies = [pool("a"), pool("b"), pool("c", kubelet={"maxPods": 5}), node_class()]
    known = KnownNames(nodes_of_pool={"a": 1, "b": 1, "c": 30}, all_pools_given=True)
    objects = convert(bodies, known_names=known).objects
    references = [body["spec"]["template"]["spec"]["nodeClassRef"]["name"] for body in objects[:3]]
    assert references == ["blue-a", "blue-a", "blue"]
    assert [(body["metadata"]["name"], body["spec"].get("kubelet")) for body in objects[3:]] == [
        ("blue", {"maxPods": 5}),
        ("blue-a", None),
    ]


def test_other_users_are_no_question_when_all_pools_are_given() -> None:
    bodies = [pool("c", kubelet={"maxPods": 5}), node_class()]
    assert "nodeclass-other-users" in codes(convert(bodies))
    assert "nodeclass-other-users" not in codes(convert(bodies, known_names=KnownNames(all_pools_given=True)))


def test_other_users_are_a_question_only_where_the_class_itself_changes() -> None:
    settings = {"kubelet": {"maxPods": 5}}
    bare_class_stays = [pool("a", **settings), pool("b"), node_class()]
    class_changes = [pool("a", **settings), pool("b", **settings), pool("c"), node_class()]
    for bodies, asked in ((bare_class_stays, False), (class_changes, True)):
        found = codes(convert(bodies))
        assert ("nodeclass-split" in found, "nodeclass-other-users" in found) == (True, asked)


def test_splitting_does_not_depend_on_the_order() -> None:
    bodies = [pool("a", kubelet={"maxPods": 5}), pool("b"), pool("c", kubelet={"maxPods": 7}), node_class()]
    forwards, backwards = (convert(order).objects for order in (bodies, bodies[::-1]))
    assert sorted(map(repr, forwards)) == sorted(map(repr, backwards))


@pytest.mark.parametrize(
    ("owner", "copied"),
    [("a" * 253, f"blue-{'a' * 58}"), ("a" * 63, f"blue-{'a' * 58}"), (f"{'a' * 57}-b", f"blue-{'a' * 57}")],
)
def test_names_of_copies_fit_the_label_that_1_1_writes(owner: str, copied: str) -> None:
    """karpenter.k8s.aws/ec2nodeclass: a value of at most 63 characters that ends in a letter or digit."""
    bodies = [pool(owner, kubelet={"maxPods": 5}), pool("b"), node_class()]
    names = [body["metadata"]["name"] for body in convert(bodies).objects[2:]]
    assert names == ["blue", copied]


def test_shortened_names_of_two_copies_differ() -> None:
    long = "a" * 60
    bodies = [pool(f"{long}-{place}", kubelet={"maxPods": place}) for place in (5, 6)]
    names = [body["metadata"]["name"] for body in convert([*bodies, pool("b"), pool("c"), node_class()]).objects[4:]]
    assert names == ["blue", f"blue-{'a' * 58}", f"blue-{'a' * 56}-2"]


def test_never_that_the_webhook_lost() -> None:
    body = {**pool("a"), "apiVersion": "karpenter.sh/v1"}
    body["spec"] = {**body["spec"], "disruption": {"consolidateAfter": "0s"}}
    assert "consolidation-never-lost" in codes(
        convert([body], known_names=KnownNames(never_consolidated=frozenset({"a"})))
    )
    assert "consolidation-never-lost" not in codes(convert([body]))


def test_marks_of_an_owner_leave_a_live_alpha_object() -> None:
    labels = {"app.kubernetes.io/managed-by": "Helm", "team": "a"}
    body = provisioner("a", labels=labels, annotations={"meta.helm.sh/release-name": "x"})
    live = convert([body], Options(live=True))
    assert live.objects[0]["metadata"] == {"name": "a", "labels": {"team": "a"}}
    assert "gitops-marker" in codes(live)
    assert convert([body]).objects[0]["metadata"]["labels"] == labels


def test_marks_of_an_owner_stay_on_a_live_beta_object() -> None:
    body = pool("a")
    body["metadata"]["annotations"] = {"argocd.argoproj.io/tracking-id": "x"}
    live = convert([body], Options(live=True))
    assert live.objects[0]["metadata"]["annotations"] == {"argocd.argoproj.io/tracking-id": "x"}
    assert "gitops-marker" in codes(live)


def test_input_is_never_changed() -> None:
    bodies = [pool("a", kubelet={"maxPods": 5}), pool("b"), node_class(), template(), provisioner("p")]
    before = repr(bodies)
    convert(bodies, Options(to="v1"))
    assert repr(bodies) == before


def test_generations() -> None:
    assert [generation_of(body) for body in (provisioner("a"), pool("a"), {"apiVersion": 1, "kind": []}, {})] == [
        "alpha",
        "beta",
        "other",
        "other",
    ]


@pytest.mark.parametrize(("to", "most"), [(None, 30), ("v1beta1", 30), ("v1", 100)])
def test_a_provisioner_is_counted_by_the_version_it_goes_to(to: TargetVersion | None, most: int) -> None:
    row = {"key": "acme.example/a", "operator": "Exists"}
    for many, wanted in ((most, set()), (most + 1, {f"{most + 1} requirements; {_API[most]} accepts {most}"})):
        body = provisioner("many")
        body["spec"]["requirements"] = [row] * many
        result = convert([body], Options(to=to, ignore_defaults=True))
        assert {loss.what for loss in result.losses if loss.code == "too-many-terms"} == wanted


_API = {30: "v1beta1 of 0.32", 100: "v1"}


@pytest.mark.parametrize(("many", "wanted"), [(100, False), (101, True)])
def test_a_pool_is_counted_by_v1(many: int, wanted: bool) -> None:
    body = pool("many", requirements=[{"key": "acme.example/a", "operator": "Exists"}] * many)
    assert ("too-many-terms" in codes(convert([body]))) is wanted


def v1_class(**body: Any) -> dict[str, Any]:
    return {"apiVersion": "karpenter.k8s.aws/v1", "kind": "EC2NodeClass", "metadata": {"name": "blue"}, **body}


def test_a_v1_class_without_a_spec_beside_its_pool() -> None:
    result = convert([v1_class(), pool("p")])
    assert [body["kind"] for body in result.objects] == ["EC2NodeClass", "NodePool"]
    assert result.objects[0] == v1_class()
    assert convert([v1_class(spec=None), pool("p")]).objects[0] == v1_class(spec=None)


def test_a_v1_class_with_odd_kubelet_settings_beside_its_pool() -> None:
    odd = v1_class(spec={"kubelet": {"kubeReserved": "x"}})
    result = convert([odd, pool("p")])
    assert [body["kind"] for body in result.objects] == ["NodePool"]
    assert [(loss.code, loss.path) for loss in result.items[0].losses] == [("bad-type", "spec.kubelet.kubeReserved")]
    empty = v1_class(spec={"kubelet": {"kubeReserved": None}})
    assert convert([empty, pool("p")]).objects[0]["apiVersion"] == "karpenter.k8s.aws/v1"


def test_an_empty_list_of_budgets_stays_no_limit() -> None:
    def disruption(**given: Any) -> Any:
        body = pool("p")
        body["spec"]["disruption"] = {"expireAfter": "Never", **given}
        return convert([body]).objects[0]["spec"]["disruption"]

    policy = {"consolidationPolicy": "WhenEmptyOrUnderutilized", "consolidateAfter": "0s"}
    assert disruption(budgets=[]) == {**policy, "budgets": []}
    assert disruption(budgets=None) == policy
    assert disruption() == policy


def test_an_empty_value_of_a_taint_is_left_out() -> None:
    taints = [{"key": "a", "value": "", "effect": "NoSchedule"}, {"key": "b", "value": "x", "effect": "NoSchedule"}]
    told = [{"key": "a", "effect": "NoSchedule"}, {"key": "b", "value": "x", "effect": "NoSchedule"}]
    old = provisioner("old")
    old["spec"] |= {"taints": taints, "startupTaints": taints}
    result = convert([old, pool("new", taints=taints, startupTaints=taints)])
    for body in result.objects:
        template_spec = body["spec"]["template"]["spec"]
        assert (template_spec["taints"], template_spec["startupTaints"]) == (told, told)
    assert "api-refuses" not in codes(result)
