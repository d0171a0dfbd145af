"""Would the API server accept this object? The structural schema of the real CRDs, and their main CEL rules in Python.

The CRDs are those of tests/upstream.
"""

import re
from functools import lru_cache
from typing import Any

import jsonschema

from tests import upstream

# v0.32.10 is the only tag that serves alpha and beta together; v0.37.8 and v1.0.14 know beta and v1
TAGS = {"v1beta1": ("v0.32.10", "v0.37.8", "v1.0.14"), "v1": ("v0.37.8", "v1.0.14", "v1.1.9")}
ONLY_LATER = {"v0.32.10": ("budgets", "minValues", "associatePublicIPAddress", "instanceStorePolicy", "AL2023")}
FILES = {
    "NodePool": "karpenter.sh_nodepools",
    "NodeClaim": "karpenter.sh_nodeclaims",
    "EC2NodeClass": "karpenter.k8s.aws_ec2nodeclasses",
}


def _strict(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema as JSON Schema in which unknown fields are refused."""
    found = {
        key: value for key, value in schema.items() if not key.startswith("x-") and key not in ("default", "nullable")
    }
    if schema.get("x-kubernetes-int-or-string"):
        found.pop("type", None)
        found["anyOf"] = [{"type": "integer"}, {"type": "string"}]
    if found.get("type") == "array" and "pattern" in found:
        found.pop("pattern")
    if "properties" in schema:
        # The API server sets defaults before it looks for required fields.
        fields = schema["properties"]
        found["required"] = [name for name in schema.get("required", []) if "default" not in fields.get(name, {})]
        found["properties"] = {key: _strict(value) for key, value in schema["properties"].items()}
        found["additionalProperties"] = False
    if "items" in schema:
        found["items"] = _strict(schema["items"])
    if isinstance(schema.get("additionalProperties"), dict):
        found["additionalProperties"] = _strict(schema["additionalProperties"])
    return found


@lru_cache(maxsize=32)
def _schema(tag: str, kind: str, version: str) -> dict[str, Any] | None:
    versions = upstream.crd(tag, FILES[kind])["spec"]["versions"]
    schema = next((item["schema"]["openAPIV3Schema"] for item in versions if item["name"] == version), None)
    return None if schema is None else _strict(schema["properties"]["spec"])


def refusals(body: dict[str, Any]) -> list[str]:
    """Why the API server would refuse the object; empty when it would take it."""
    version = body["apiVersion"].partition("/")[2]
    spec, text = body["spec"], str(body)
    found = list(_rules(body["kind"], version, spec))
    for tag in TAGS[version]:
        schema = _schema(tag, body["kind"], version)
        if schema is None or any(word in text for word in ONLY_LATER.get(tag, ())):
            continue
        validator = jsonschema.Draft202012Validator(schema)
        found += [f"{tag} {error.json_path}: {error.message}" for error in validator.iter_errors(spec)]
    return found


def _rules(kind: str, version: str, spec: dict[str, Any]) -> list[str]:
    if kind == "EC2NodeClass":
        return _class_rules(version, spec)
    return _pool_rules(version, spec) if kind == "NodePool" else []


def _pool_rules(version: str, spec: dict[str, Any]) -> list[str]:
    found, disruption, template = [], spec["disruption"], spec["template"]["spec"]
    policy, after = disruption.get("consolidationPolicy", "WhenUnderutilized"), disruption.get("consolidateAfter")
    if version == "v1beta1" and policy == "WhenUnderutilized" and after not in (None, "Never"):
        found.append("consolidateAfter with WhenUnderutilized")
    if policy == "WhenEmpty" and after is None:
        found.append("WhenEmpty without consolidateAfter")
    if version == "v1" and after is None:
        found.append("v1 needs consolidateAfter")
    labels = spec["template"].get("metadata", {}).get("labels", {})
    found += [
        f"restricted {key}"
        for key in [*labels, *(item["key"] for item in template["requirements"])]
        if _restricted(key)
    ]
    found += [f"values of {item}" for item in template["requirements"] if not _values_fit(item)]
    return found + _kubelet_rules(template.get("kubelet", {}))


def _values_fit(item: dict[str, Any]) -> bool:
    values = item.get("values", [])
    if item["operator"] in ("Gt", "Lt"):
        return len(values) == 1 and int(values[0]) >= 0
    return item["operator"] != "In" or len(values) >= max(1, item.get("minValues", 1))


def _restricted(key: str) -> bool:
    domain = re.match(r"[^/]+", key)[0]
    if key in ("kubernetes.io/hostname", "karpenter.sh/nodepool"):
        return True
    if domain.endswith("karpenter.sh"):
        return key != "karpenter.sh/capacity-type"
    if domain.endswith("karpenter.k8s.aws"):
        return not key.startswith("karpenter.k8s.aws/instance-") or key.endswith("-pods")
    if domain.endswith("k8s.io"):
        return not domain.endswith("kops.k8s.io")
    plain = ("kubernetes.io/os", "kubernetes.io/arch", "topology.kubernetes.io/zone", "topology.kubernetes.io/region")
    beta = ("beta.kubernetes.io/instance-type", "beta.kubernetes.io/os", "beta.kubernetes.io/arch")
    old = ("failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region")
    is_open = domain.endswith(("node.kubernetes.io", "node-restriction.kubernetes.io"))
    return domain.endswith("kubernetes.io") and not is_open and key not in plain + beta + old


def _kubelet_rules(kubelet: dict[str, Any]) -> list[str]:
    found = []
    high, low = kubelet.get("imageGCHighThresholdPercent"), kubelet.get("imageGCLowThresholdPercent")
    if high is not None and low is not None and high <= low:
        found.append("GC thresholds")
    if kubelet.get("evictionSoft", {}).keys() != kubelet.get("evictionSoftGracePeriod", {}).keys():
        found.append("soft eviction without grace")
    reservable = {"cpu", "memory", "ephemeral-storage", "pid"}
    parts = ("kubeReserved", "systemReserved")
    return found + [f"keys of {part}" for part in parts if not kubelet.get(part, {}).keys() <= reservable]


def _class_rules(version: str, spec: dict[str, Any]) -> list[str]:
    found = []
    if ("role" in spec) == ("instanceProfile" in spec):
        found.append("role or instanceProfile")
    images = spec.get("amiSelectorTerms", [])
    if spec.get("amiFamily") == "Custom" and not images:
        found.append("Custom without images")
    if version == "v1" and any("id" in term and len(term) > 1 for term in images):
        found.append("id beside another filter")
    if any("alias" in term for term in images) and len(images) != 1:
        found.append("alias beside another term")
    if version == "v1" and not images:
        found.append("v1 needs amiSelectorTerms")
    for name in ("amiSelectorTerms", "subnetSelectorTerms", "securityGroupSelectorTerms"):
        found += [f"{name} {term}" for term in spec.get(name, []) if not _term_fits(term)]
    found += [f"tag {key}" for key in spec.get("tags", {}) if _tag_refused(key, version)]
    for device in spec.get("blockDeviceMappings", []):
        ebs = device.get("ebs")
        if ebs is not None and not ebs.keys() & {"volumeSize", "snapshotID"}:
            found.append("ebs without size")
    return found + _kubelet_rules(spec.get("kubelet", {}))


def _term_fits(term: dict[str, Any]) -> bool:
    tags = term.get("tags", {})
    return bool(term.keys() & {"tags", "id", "name", "alias"}) and all(key and value for key, value in tags.items())


def _tag_refused(key: str, version: str) -> bool:
    own = {"v1beta1": ("provisioner-name", "nodepool", "managed-by"), "v1": ("nodepool", "nodeclaim")}[version]
    if version == "v1" and key in ("karpenter.k8s.aws/ec2nodeclass", "eks:eks-cluster-name"):
        return True
    return not key or key.startswith("kubernetes.io/cluster") or key in [f"karpenter.sh/{name}" for name in own]
