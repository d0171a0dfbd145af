"""Random valid objects do the same before and after, read independently on both sides, and the server takes them."""

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from migrations_app.conversion.convert import convert
from migrations_app.conversion.objects import Options
from migrations_app.manifests import reader, writer
from tests.conversion import behaviour, crd_checks

_fast = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
_word = st.sampled_from(["a", "web", "y", "12e6", "true", "1", "x.y", "on", ""])
_names = st.sampled_from(["blue", "green"])


def some(**shapes: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """A map with any of these keys."""
    return st.fixed_dictionaries({}, optional=shapes)


_amount = st.one_of(
    st.integers(1, 5000),
    st.builds("{}{}".format, st.integers(1, 4096), st.sampled_from(["", "m", "k", "Mi", "Gi", "G"])),
)
_labels = st.dictionaries(
    st.sampled_from(["team", "acme.example/tier", "karpenter.k8s.aws/instance-hypervisor"]), _word, max_size=2
)
_annotations = st.dictionaries(
    st.sampled_from(
        ["note", "karpenter.sh/do-not-evict", "karpenter.sh/do-not-consolidate", "karpenter.sh/do-not-disrupt"]
    ),
    st.just("true"),
    max_size=3,
)
_taint = st.fixed_dictionaries(
    {"key": st.sampled_from(["a", "b/c"]), "effect": st.sampled_from(["NoSchedule", "NoExecute", "PreferNoSchedule"])},
    optional={"value": st.sampled_from(["x", "1", ""])},
)
_keys = st.sampled_from(
    [
        "kubernetes.io/os", "beta.kubernetes.io/arch", "kubernetes.io/arch", "karpenter.sh/capacity-type",
        "node.kubernetes.io/instance-type", "karpenter.k8s.aws/instance-family", "karpenter.k8s.aws/instance-category",
        "karpenter.k8s.aws/instance-cpu", "topology.kubernetes.io/zone", "acme.example/tier",
    ]
)  # fmt: skip
_values = st.lists(st.sampled_from(["c", "m", "r", "spot", "1a"]), min_size=1, max_size=3, unique=True)
_requirement = st.one_of(
    st.fixed_dictionaries({"key": _keys, "operator": st.sampled_from(["In", "NotIn"]), "values": _values}),
    st.fixed_dictionaries({"key": _keys, "operator": st.sampled_from(["Gt", "Lt"]), "values": st.just(["3"])}),
    st.fixed_dictionaries({"key": _keys, "operator": st.sampled_from(["Exists", "DoesNotExist"])}),
)
_reserved = st.dictionaries(st.sampled_from(["cpu", "memory", "pid"]), _amount, max_size=2)
_eviction = st.sampled_from([("5%", "90s"), ("500Mi", "1m30s"), ("10%", "2m")])


@st.composite
def _kubelets(draw: st.DrawFn) -> dict[str, Any]:
    found = draw(
        some(
            maxPods=st.integers(1, 110),
            podsPerCore=st.integers(0, 9),
            clusterDNS=st.just(["10.0.0.10"]),
            systemReserved=_reserved,
            kubeReserved=_reserved,
            cpuCFSQuota=st.booleans(),
            evictionHard=st.just({"memory.available": "5%"}),
            evictionMaxPodGracePeriod=st.integers(0, 600),
        )
    )
    if draw(st.booleans()):
        threshold, grace = draw(_eviction)
        found |= {
            "evictionSoft": {"memory.available": threshold},
            "evictionSoftGracePeriod": {"memory.available": grace},
        }
    return found


_tags = st.dictionaries(st.sampled_from(["team", "Name"]), _word, max_size=2)
_options = some(
    httpEndpoint=st.sampled_from(["enabled", "disabled"]),
    httpProtocolIPv6=st.sampled_from(["enabled", "disabled"]),
    httpPutResponseHopLimit=st.integers(1, 64),
    httpTokens=st.sampled_from(["required", "optional"]),
)
_ebs = st.fixed_dictionaries(
    {"volumeSize": st.sampled_from(["1Gi", "50Gi", "1024Gi", "100G", "2Ti"])},
    optional={"encrypted": st.booleans(), "iops": st.integers(3000, 9000), "volumeType": st.just("gp3")},
)
_device = st.fixed_dictionaries({"deviceName": st.just("/dev/xvda")}, optional={"ebs": _ebs})
_user_data = st.sampled_from(
    ["#!/bin/sh\necho hi\n", "status: {}\n", "  [settings]\nx = 1", "a\n\n\n", "tab\there\n", "é\n"]
)
_list = st.sampled_from(["1", "2", "1,2", "1, 3", "*", "1,2,3"])
_tag_map = st.dictionaries(st.sampled_from(["a", "b"]), _list, min_size=1)
_subnets = st.one_of(_tag_map, st.just({"aws-ids": "subnet-1, subnet-2"}), st.just({"aws::ids": "subnet-1"}))
_groups = st.one_of(_tag_map, st.just({"aws-ids": "sg-1"}))
_images = st.one_of(
    _tag_map,
    st.just({"aws::ids": "ami-1,ami-2"}),
    st.builds(
        lambda name, more: {"aws::name": name, **more},
        st.sampled_from(["x", "x,y", "*"]),
        some(**{"aws::owners": st.sampled_from(["self", "self, amazon"]), "a": _list}),
    ),
)
_provider_fields: dict[str, st.SearchStrategy[Any]] = {
    "tags": _tags,
    "context": st.just("ctx"),
    "instanceProfile": st.just("old"),
    "metadataOptions": _options,
    "blockDeviceMappings": st.lists(_device, max_size=2),
}
_families = st.sampled_from(["AL2", "Bottlerocket", "Windows2022", "AL2023"])
_selectors = {"subnetSelector": _subnets, "securityGroupSelector": _groups}
_templates = st.fixed_dictionaries(
    _selectors,
    optional={
        **_provider_fields,
        "amiFamily": _families,
        "amiSelector": _images,
        "userData": _user_data,
        "detailedMonitoring": st.booleans(),
    },
)
_providers = st.fixed_dictionaries(_selectors, optional={**_provider_fields, "amiFamily": _families})
_provisioners = some(
    labels=_labels,
    annotations=_annotations,
    taints=st.lists(_taint, max_size=2),
    startupTaints=st.lists(_taint, max_size=2),
    requirements=st.lists(_requirement, max_size=5),
    limits=st.fixed_dictionaries(
        {"resources": st.dictionaries(st.sampled_from(["cpu", "memory", "nvidia.com/gpu"]), _amount, max_size=3)}
    ),
    weight=st.integers(1, 100),
    ttlSecondsUntilExpired=st.integers(0, 10**8),
    ttlSecondsAfterEmpty=st.integers(0, 10**6),
    consolidation=some(enabled=st.booleans()),
    kubeletConfiguration=_kubelets(),
)


def provisioner(name: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": "karpenter.sh/v1alpha5", "kind": "Provisioner", "metadata": {"name": name}, "spec": spec}


def template(name: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "karpenter.k8s.aws/v1alpha1",
        "kind": "AWSNodeTemplate",
        "metadata": {"name": name},
        "spec": spec,
    }


def _accepted(bodies: list[dict[str, Any]]) -> None:
    assert [(body["metadata"]["name"], crd_checks.refusals(body)) for body in bodies if crd_checks.refusals(body)] == []


def _printed(bodies: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The objects as they come back out of the text that is printed."""
    text = writer.stream(map(writer.text_of, bodies))
    reading = reader.read(text, file="printed")
    assert reading.faults == []
    back = [manifest.body for manifest in reading.manifests]
    assert back == bodies
    return back


@_fast
@given(spec=_provisioners, ignore=st.booleans(), to_v1=st.booleans())
def test_a_provisioner_and_its_pool_do_the_same(spec: dict[str, Any], ignore: bool, to_v1: bool) -> None:
    pinned = set(spec.get("labels", {})) & {"karpenter.sh/capacity-type"}
    assert not pinned
    body = provisioner("p", {**spec, "providerRef": {"name": "t"}})
    options = Options(to="v1" if to_v1 else None, ignore_defaults=ignore, node_role="r")
    networks = {"subnetSelector": {"a": "1"}, "securityGroupSelector": {"a": "1"}}
    pool, cls = _printed(convert([body, template("t", networks)], options).objects)
    _accepted([pool, cls])
    kubelet = cls["spec"].get("kubelet") if to_v1 else pool["spec"]["template"]["spec"].get("kubelet")
    assert behaviour.new_pool(pool, kubelet=kubelet) == behaviour.alpha_pool(body, defaults=not ignore)


@_fast
@given(spec=_templates, to_v1=st.booleans())
def test_a_template_and_its_class_do_the_same(spec: dict[str, Any], to_v1: bool) -> None:
    options = Options(to="v1" if to_v1 else None, node_role="r")
    conversion = convert([template("t", spec)], options)
    (cls,) = _printed(conversion.objects)
    _accepted([cls])
    assert behaviour.new_class(cls) == behaviour.alpha_class(spec)


@_fast
@given(spec=_provisioners, provider=_providers)
def test_an_inline_provider_and_its_class_do_the_same(spec: dict[str, Any], provider: dict[str, Any]) -> None:
    body = provisioner("p", {**spec, "provider": provider})
    pool, cls = _printed(convert([body], Options(node_role="r")).objects)
    _accepted([pool, cls])
    assert pool["spec"]["template"]["spec"]["nodeClassRef"]["name"] == cls["metadata"]["name"] == "p"
    assert behaviour.new_class(cls) == behaviour.alpha_class(provider)


_budgets = st.lists(
    st.one_of(st.just({"nodes": "10%"}), st.just({"nodes": "0", "schedule": "@daily", "duration": "1h"})),
    max_size=2,
)
_duration = st.sampled_from(["30s", "1h30m", "720h", "2160h0m0s", "Never"])
_disruption = st.one_of(
    some(
        consolidationPolicy=st.just("WhenUnderutilized"),
        expireAfter=_duration,
        budgets=_budgets,
        consolidateAfter=st.just("Never"),
    ),
    st.fixed_dictionaries(
        {"consolidationPolicy": st.just("WhenEmpty"), "consolidateAfter": _duration},
        optional={"expireAfter": _duration},
    ),
)
_beta_requirement = st.one_of(
    _requirement, st.fixed_dictionaries({"key": _keys, "operator": st.just("Exists"), "minValues": st.integers(1, 50)})
)


def _pool(name: str, owner: str, parts: dict[str, Any]) -> dict[str, Any]:
    spec = {"nodeClassRef": {"name": owner}, "requirements": parts.get("requirements", [])}
    spec |= {key: parts[key] for key in ("taints", "startupTaints", "kubelet") if key in parts}
    whole = {"template": {"metadata": {key: parts.get(key, {}) for key in ("labels", "annotations")}, "spec": spec}}
    whole |= {key: parts[key] for key in ("disruption", "limits", "weight") if key in parts}
    return {"apiVersion": "karpenter.sh/v1beta1", "kind": "NodePool", "metadata": {"name": name}, "spec": whole}


_pool_parts = some(
    labels=_labels,
    annotations=_annotations,
    taints=st.lists(_taint, max_size=2),
    startupTaints=st.lists(_taint, max_size=2),
    requirements=st.lists(_beta_requirement, max_size=5),
    limits=st.dictionaries(st.sampled_from(["cpu", "memory"]), _amount, max_size=2),
    weight=st.integers(1, 100),
    disruption=_disruption,
    kubelet=st.one_of(st.just({}), st.just({"maxPods": 20}), _kubelets()),
)
_plain_tags = st.dictionaries(st.sampled_from(["a", "b"]), st.sampled_from(["1", "2", "*"]), min_size=1)
_tag_term = st.fixed_dictionaries({"tags": _plain_tags})
_classes = st.fixed_dictionaries(
    {
        "amiFamily": _families,
        "role": st.just("r"),
        "subnetSelectorTerms": st.lists(st.one_of(_tag_term, st.just({"id": "subnet-1"})), min_size=1, max_size=2),
        "securityGroupSelectorTerms": st.lists(
            st.one_of(_tag_term, st.just({"id": "sg-1"}), st.just({"name": "x"})), min_size=1, max_size=2
        ),
    },
    optional={
        "amiSelectorTerms": st.lists(
            st.one_of(_tag_term, st.just({"id": "ami-1"}), st.just({"name": "x", "owner": "self"})), max_size=2
        ),
        "userData": _user_data,
        "tags": _tags,
        "context": st.just("ctx"),
        "detailedMonitoring": st.booleans(),
        "associatePublicIPAddress": st.booleans(),
        "instanceStorePolicy": st.just("RAID0"),
        "metadataOptions": _options,
        "blockDeviceMappings": st.lists(_device, max_size=2),
    },
)


@_fast
@given(
    pools=st.lists(st.tuples(_names, _pool_parts), min_size=1, max_size=4),
    classes=st.fixed_dictionaries({"blue": _classes, "green": _classes}),
)
def test_beta_pools_and_classes_do_the_same_in_v1(pools: list[tuple[str, Any]], classes: dict[str, Any]) -> None:
    old_pools = [_pool(f"p{index}", owner, parts) for index, (owner, parts) in enumerate(pools)]
    api = {"apiVersion": "karpenter.k8s.aws/v1beta1", "kind": "EC2NodeClass"}
    old_classes = {name: {**api, "metadata": {"name": name}, "spec": spec} for name, spec in classes.items()}
    new = _printed(convert([*old_pools, *old_classes.values()]).objects)
    _accepted(new)
    new_classes = {body["metadata"]["name"]: body for body in new if body["kind"] == "EC2NodeClass"}
    for old, body in zip(old_pools, new, strict=False):
        owner = new_classes[body["spec"]["template"]["spec"]["nodeClassRef"]["name"]]
        old_template = old["spec"]["template"]["spec"]
        assert behaviour.new_pool(body, kubelet=owner["spec"].get("kubelet")) == behaviour.new_pool(
            old, kubelet=old_template.get("kubelet")
        )
        assert behaviour.budgets(body) == behaviour.budgets(old)
        assert behaviour.new_class(owner) == behaviour.new_class(old_classes[old_template["nodeClassRef"]["name"]])


_hot_words = st.sampled_from(
    [
        "name", "labels", "annotations", "template", "spec", "metadata", "requirements", "kubelet", "nodeClassRef",
        "providerRef", "provider", "limits", "resources", "disruption", "budgets", "key", "operator", "values", "ebs",
        "amiFamily", "amiSelectorTerms", "blockDeviceMappings", "metadataOptions", "tags", "taints", "consolidateAfter",
        "subnetSelector", "kubeletConfiguration", "clusterDNS", "systemReserved", "consolidation", "x",
        "compatibility.karpenter.sh/v1beta1-kubelet-conversion",
    ]
)  # fmt: skip
_json = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-3, 3),
        st.floats(allow_nan=True),
        st.text(max_size=3),
        st.sampled_from(["In", "Never", "AL2"]),
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(_hot_words, inner, max_size=4)),
    max_leaves=25,
)
_apis = st.sampled_from(
    [
        ("karpenter.sh/v1alpha5", "Provisioner"), ("karpenter.k8s.aws/v1alpha1", "AWSNodeTemplate"),
        ("karpenter.sh/v1beta1", "NodePool"), ("karpenter.k8s.aws/v1beta1", "EC2NodeClass"),
        ("karpenter.sh/v1beta1", "NodeClaim"),
        ("karpenter.sh/v1", "NodePool"), ("karpenter.k8s.aws/v1", "EC2NodeClass"), ("v1", "Pod"),
    ]
)  # fmt: skip


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(objects=st.lists(st.tuples(_apis, _json, _json), max_size=3), to=st.sampled_from([None, "v1beta1", "v1"]))
def test_nothing_that_an_object_holds_raises(objects: list[Any], to: Any) -> None:
    bodies = [
        {"apiVersion": api, "kind": kind, "metadata": metadata, "spec": spec} for (api, kind), metadata, spec in objects
    ]
    conversion = convert(bodies, Options(to=to))
    assert len(conversion.items) == len(bodies)
    for item in conversion.items:
        assert item.objects == [] or not any(loss.severity == "error" for loss in item.losses)
        assert writer.stream(map(writer.text_of, item.objects)) is not None
