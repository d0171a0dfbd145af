"""What an object of any generation does, read independently of the product: nothing here imports it.

A behaviour is a plain value; two objects do the same when their behaviours are equal.
"""

import re
from fractions import Fraction
from itertools import product
from typing import Any

_SUFFIX = {
    "n": Fraction(1, 10**9), "u": Fraction(1, 10**6), "m": Fraction(1, 1000), "": 1, "k": 10**3, "M": 10**6, "G": 10**9,
    "T": 10**12, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40,
}  # fmt: skip
_SECONDS = {"h": 3600, "m": 60, "s": 1}
_OLD_NAMES = {"beta.kubernetes.io/arch": "kubernetes.io/arch", "beta.kubernetes.io/os": "kubernetes.io/os"}
_SHAPE = (
    "node.kubernetes.io/instance-type",
    *(f"karpenter.k8s.aws/instance-{n}" for n in ("family", "category", "generation")),
)
_SAMPLE_TAGS = [dict(zip("ab", values, strict=True)) for values in product((None, "1", "2", "3"), repeat=2)]
_SAMPLE = [
    {
        "id": f"{kind}-{number}",
        "name": name,
        "owner": owner,
        "tags": {key: value for key, value in tags.items() if value},
    }
    for kind, number in (("subnet", 1), ("subnet", 2), ("sg", 1), ("ami", 1), ("ami", 2))
    for name in ("x", "y")
    for owner in ("self", "amazon")
    for tags in _SAMPLE_TAGS
]


def amount(value: Any) -> Fraction:
    number, suffix = re.fullmatch(r"([0-9.]+)([A-Za-z]*)", str(value)).groups()
    return Fraction(number) * _SUFFIX[suffix]


def seconds(text: str | None) -> Fraction | None:
    if text in (None, "Never"):
        return None
    return sum(
        (Fraction(number) * _SECONDS[unit] for number, unit in re.findall(r"([0-9.]+)([hms])", text)), Fraction(0)
    )


def _requirements(items: list[dict[str, Any]]) -> set[tuple[Any, ...]]:
    return {
        (
            _OLD_NAMES.get(item["key"], item["key"]),
            item["operator"],
            tuple(sorted(item.get("values", []))),
            item.get("minValues"),
        )
        for item in items
    }


def _taints(items: list[dict[str, Any]]) -> set[tuple[Any, ...]]:
    return {(item["key"], item.get("value", ""), item["effect"]) for item in items}


def _kubelet(found: dict[str, Any] | None) -> dict[str, Any]:
    result = {key: value for key, value in (found or {}).items() if key != "containerRuntime" and value not in ({}, [])}
    for key in ("kubeReserved", "systemReserved"):
        if key in result:
            result[key] = {name: amount(value) for name, value in result[key].items()}
    if "evictionSoftGracePeriod" in result:
        result["evictionSoftGracePeriod"] = {k: seconds(v) for k, v in result["evictionSoftGracePeriod"].items()}
    return result


def _pool(labels: Any, annotations: Any, spec: dict[str, Any], **more: Any) -> dict[str, Any]:
    held = ("karpenter.sh/do-not-disrupt", "karpenter.sh/do-not-evict", "karpenter.sh/do-not-consolidate")
    annotations = annotations or {}
    return {
        "labels": labels or {},
        "annotations": {key: value for key, value in annotations.items() if key not in held},
        "never consolidated": any(annotations.get(key) == "true" for key in (held[0], held[2])),
        "taints": _taints(spec.get("taints", [])),
        "startup taints": _taints(spec.get("startupTaints", [])),
        "requirements": _requirements(spec.get("requirements", [])),
        **more,
    }


def alpha_pool(body: dict[str, Any], *, defaults: bool) -> dict[str, Any]:
    spec = body["spec"]
    found = _pool(
        spec.get("labels"),
        spec.get("annotations"),
        spec,
        limits={key: amount(value) for key, value in spec.get("limits", {}).get("resources", {}).items()},
        weight=spec.get("weight"),
        expires=None if spec.get("ttlSecondsUntilExpired") is None else Fraction(spec["ttlSecondsUntilExpired"]),
        consolidates=_alpha_consolidation(spec),
        kubelet=_kubelet(spec.get("kubeletConfiguration")),
    )
    if defaults:
        found["requirements"] |= _webhook_adds({key for key, *_ in found["requirements"]})
    return found


def _alpha_consolidation(spec: dict[str, Any]) -> Any:
    if spec.get("consolidation", {}).get("enabled"):
        return "whenever it saves"
    after = spec.get("ttlSecondsAfterEmpty")
    return "never" if after is None else ("when empty for", Fraction(after))


def _webhook_adds(present: set[str]) -> set[tuple[Any, ...]]:
    added = set()
    for key, value in (
        ("kubernetes.io/os", "linux"),
        ("kubernetes.io/arch", "amd64"),
        ("karpenter.sh/capacity-type", "on-demand"),
    ):
        if key not in present:
            added.add((key, "In", (value,), None))
    if not present & set(_SHAPE):
        added.add(("karpenter.k8s.aws/instance-category", "In", ("c", "m", "r"), None))
        added.add(("karpenter.k8s.aws/instance-generation", "Gt", ("2",), None))
    return added


def new_pool(body: dict[str, Any], *, kubelet: dict[str, Any] | None) -> dict[str, Any]:
    """Of a NodePool in v1beta1 or v1; v1 has its kubelet settings elsewhere."""
    spec, disruption = body["spec"], body["spec"].get("disruption", {})
    is_v1 = body["apiVersion"].endswith("/v1")
    template = spec["template"]
    head = template.get("metadata", {})
    expiry = (template["spec"] if is_v1 else disruption).get("expireAfter", "720h")
    return _pool(
        head.get("labels"),
        head.get("annotations"),
        template["spec"],
        limits={key: amount(value) for key, value in spec.get("limits", {}).items()},
        weight=spec.get("weight"),
        expires=seconds(expiry),
        consolidates=_new_consolidation(disruption, is_v1=is_v1),
        kubelet=_kubelet(kubelet),
    )


def _new_consolidation(disruption: dict[str, Any], *, is_v1: bool) -> Any:
    policy = disruption.get("consolidationPolicy", "WhenEmptyOrUnderutilized" if is_v1 else "WhenUnderutilized")
    after = disruption.get("consolidateAfter", "0s")
    if after == "Never":
        return "never"
    if policy == "WhenEmpty":
        return ("when empty for", seconds(after))
    assert seconds(after) == 0
    return "whenever it saves"


def budgets(body: dict[str, Any]) -> Any:
    return body["spec"].get("disruption", {}).get("budgets")


def _fits(text: str, pattern: str) -> bool:
    return pattern == "*" or text == pattern


def _selected_by_map(selector: dict[str, str] | None, *, images: bool) -> Any:
    """Which samples a selector map takes: every key must fit, one value of its list is enough."""
    if not selector:
        return None
    ids = selector.get("aws::ids") or selector.get("aws-ids")
    if ids:
        wanted = {part.strip() for part in ids.split(",")}
        return [sample["id"] in wanted for sample in _SAMPLE]
    return [all(_key_fits(sample, key, value, images=images) for key, value in selector.items()) for sample in _SAMPLE]


def _key_fits(sample: dict[str, Any], key: str, value: str, *, images: bool) -> bool:
    values = [part.strip() or "*" for part in value.split(",")]
    if images and key == "aws::name":
        return any(_fits(sample["name"], one) for one in values)
    if images and key == "aws::owners":
        return sample["owner"] in values
    return key in sample["tags"] and any(_fits(sample["tags"][key], one) for one in values)


def _selected_by_terms(terms: list[dict[str, Any]] | None) -> Any:
    if not terms:
        return None
    return [any(_term_fits(sample, term) for term in terms) for sample in _SAMPLE]


def _term_fits(sample: dict[str, Any], term: dict[str, Any]) -> bool:
    if "id" in term:
        return sample["id"] == term["id"]
    tags = all(
        key in sample["tags"] and _fits(sample["tags"][key], value) for key, value in term.get("tags", {}).items()
    )
    name = _fits(sample["name"], term.get("name", "*"))
    return tags and name and sample["owner"] == term.get("owner", sample["owner"])


def _devices(items: list[dict[str, Any]]) -> list[Any]:
    found = []
    for item in items:
        ebs = dict(item.get("ebs") or {})
        if "volumeSize" in ebs:
            ebs["volumeSize"] = amount(ebs["volumeSize"])
        found.append({**item, "ebs": ebs})
    return found


def _class(spec: dict[str, Any]) -> dict[str, Any]:
    plain = ("userData", "tags", "context", "detailedMonitoring", "associatePublicIPAddress", "instanceStorePolicy")
    return {
        **{key: spec.get(key) for key in plain if spec.get(key) not in (None, {})},
        "devices": _devices(spec.get("blockDeviceMappings", [])),
    }


def alpha_class(spec: dict[str, Any]) -> dict[str, Any]:
    """Of the spec of an AWSNodeTemplate or of an inline provider."""
    none = {
        "httpEndpoint": "enabled",
        "httpProtocolIPv6": "disabled",
        "httpPutResponseHopLimit": 2,
        "httpTokens": "required",
    }
    ec2 = {
        "httpEndpoint": "enabled",
        "httpProtocolIPv6": "disabled",
        "httpPutResponseHopLimit": 1,
        "httpTokens": "optional",
    }
    options = spec.get("metadataOptions")
    return {
        **_class(spec),
        "family": spec.get("amiFamily", "AL2"),
        "subnets": _selected_by_map(spec.get("subnetSelector"), images=False),
        "groups": _selected_by_map(spec.get("securityGroupSelector"), images=False),
        "images": _selected_by_map(spec.get("amiSelector"), images=True),
        "imds": none if options is None else {**ec2, **options},
    }


def new_class(body: dict[str, Any]) -> dict[str, Any]:
    """Of an EC2NodeClass in v1beta1 or v1."""
    spec = body["spec"]
    is_v1 = body["apiVersion"].endswith("/v1")
    hops = 1 if is_v1 else 2
    defaults = {
        "httpEndpoint": "enabled",
        "httpProtocolIPv6": "disabled",
        "httpPutResponseHopLimit": hops,
        "httpTokens": "required",
    }
    terms = spec.get("amiSelectorTerms") or []
    alias = next((term["alias"] for term in terms if "alias" in term), None)
    family = spec.get("amiFamily")
    if alias is not None:
        assert alias == f"{family.lower()}@latest"
        terms = []
    return {
        **_class(spec),
        "family": family,
        "subnets": _selected_by_terms(spec.get("subnetSelectorTerms")),
        "groups": _selected_by_terms(spec.get("securityGroupSelectorTerms")),
        "images": _selected_by_terms(terms),
        "imds": {**defaults, **spec.get("metadataOptions", {})},
    }
