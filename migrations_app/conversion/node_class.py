"""EC2NodeClass of v1beta1 to v1, and v1 objects that the conversion webhook made.

If a v1 default differs from the old behaviour, the old behaviour is written explicitly. Values that the webhook
stored in annotations are moved to their v1 fields. Sources:
aws/karpenter-provider-aws@v1.0.8:pkg/apis/v1/ec2nodeclass_conversion.go and pkg/apis/v1/labels.go;
kubernetes-sigs/karpenter@v1.0.8:pkg/apis/v1/labels.go.
"""

from collections.abc import Mapping
from typing import Any, Final

from migrations_app.conversion import metadata, node_template, schema, selectors
from migrations_app.conversion.findings import FieldPath, FindingCollector
from migrations_app.conversion.objects import PLACEHOLDER, KnownNames, ObjectDraft, Options, filled, manifest, spec_of
from migrations_app.conversion.schema import FieldReader, anything, list_of, map_of, text
from migrations_app.manifests.nesting import parse_json

API: Final = "karpenter.k8s.aws/v1"
ALIAS_VERSION: Final = "compatibility.karpenter.k8s.aws/v1-alias-version"

_LATEST: Final = "latest"
_BETA_DEFAULTS: Final = {
    "httpEndpoint": "enabled",
    "httpProtocolIPv6": "disabled",
    "httpPutResponseHopLimit": 2,
    "httpTokens": "required",
}
_UBUNTU_OWNER: Final = "099720109477"  # inferred: Canonical's public account
_UBUNTU_DEVICES: Final = [
    {
        "deviceName": "/dev/sda1",
        "rootVolume": True,
        "ebs": {"encrypted": True, "volumeType": "gp3", "volumeSize": "20Gi"},
    }
]

Spec = dict[str, Any]


def convert_class(body: Mapping[str, Any], notes: FindingCollector, *, options: Options) -> list[ObjectDraft]:
    """The v1 EC2NodeClass; empty if the object has an error."""
    head = metadata.cleaned(schema.OBJECT(body, (), notes=notes) or {}, notes)
    old: Spec = schema.NODE_CLASS(spec_of(body), ("spec",), notes=notes) or {}
    if notes.failed:
        return []
    if options.live:
        metadata.warn_of_markers(head, notes)
    version = str(metadata.annotations_of(body).get(ALIAS_VERSION) or _LATEST)
    spec = {
        **_images(old, notes, version=version),
        **_identity(old, notes, options=options),
        **filled({name: old.get(name) for name in ("subnetSelectorTerms", "securityGroupSelectorTerms", "userData")}),
        **filled(
            {
                "tags": metadata.open_tags(
                    old.get("tags") or {}, ("spec", "tags"), notes=notes, minors=metadata.V1_MINORS
                )
            }
        ),
        **filled({"blockDeviceMappings": _devices(old, notes)}),
        "metadataOptions": _metadata_options(old, notes),
        **filled(
            {
                name: old.get(name)
                for name in ("detailedMonitoring", "associatePublicIPAddress", "instanceStorePolicy", "context")
            }
        ),
    }
    _warn(old, notes)
    return [] if notes.failed else [ObjectDraft(manifest(API, "EC2NodeClass", metadata=head, spec=spec), notes)]


def _images(old: Spec, notes: FindingCollector, *, version: str) -> Spec:
    """amiFamily and amiSelectorTerms of the new class."""
    family, terms = old.get("amiFamily"), old.get("amiSelectorTerms") or []
    path = ("spec", "amiSelectorTerms")
    if family is None:
        notes.add("ami-family-missing", ("spec", "amiFamily"), what="spec.amiFamily is missing; v1beta1 requires it")
    elif family == "Custom" and not terms:
        notes.add("custom-needs-ami-terms", path, what="amiFamily Custom needs amiSelectorTerms")
    elif family == "Ubuntu":
        return _ubuntu(terms, notes)
    elif not terms:
        return {"amiFamily": family, "amiSelectorTerms": [_alias(family, version, notes=notes)]}
    if family == "AL2":
        _warn_of_al2(notes)
    return {"amiFamily": family, "amiSelectorTerms": _plain_ids(terms, notes)}


def _alias(family: str, version: str, *, notes: FindingCollector) -> dict[str, str]:
    alias = f"{family.lower()}@{version}"
    path = ("spec", "amiFamily")
    if version == _LATEST:
        pin = "" if family.startswith("Windows") else f"; to pin a version write {family.lower()}@v..."
        notes.add(
            "ami-alias-latest",
            path,
            what=f"images come from the alias {alias}, as they did from amiFamily {family}{pin}",
        )
    if family == "AL2":
        _warn_of_al2(notes)
    return {"alias": alias}


def _warn_of_al2(notes: FindingCollector) -> None:
    message = "AL2 images end with Kubernetes 1.32; plan the move to AL2023 or Bottlerocket"
    notes.add("al2-end", ("spec", "amiFamily"), what=message)


def _ubuntu(terms: list[dict[str, Any]], notes: FindingCollector) -> Spec:
    if not terms:
        proposal = [{"name": "ubuntu-eks/k8s_<version>/images/*", "owner": _UBUNTU_OWNER}]
        message = (
            "amiFamily Ubuntu without amiSelectorTerms: name the images there, for instance by Canonical's name"
            f" pattern with owner {_UBUNTU_OWNER} (confirm both)"
        )
        notes.add("ubuntu-needs-ami-terms", ("spec", "amiSelectorTerms"), what=message, proposal=proposal)
        return {}
    message = (
        "amiFamily is AL2 now, whose user data format Ubuntu shares; the long-term answer is amiFamily Custom with"
        " complete user data"
    )
    notes.add("ubuntu-as-al2", ("spec", "amiFamily"), what=message)
    return {"amiFamily": "AL2", "amiSelectorTerms": _plain_ids(terms, notes)}


def _plain_ids(terms: list[dict[str, Any]], notes: FindingCollector) -> list[dict[str, Any]]:
    """The terms; a term with an id loses its other filters if some terms have no id, since v1 refuses the mix.

    If every term mixes id and filters, v1beta1 itself refused the class, so nothing is changed.
    """
    mixed = [index for index, term in enumerate(terms) if "id" in term and len(term) > 1]
    for index in mixed:
        others = ", ".join(key for key in terms[index] if key != "id")
        message = f"{others} beside id has no effect in v1beta1, and v1 refuses the term"
        notes.add("selector-id-exclusive", ("spec", "amiSelectorTerms", index), what=message)
    if len(mixed) == len(terms):
        return terms
    return [{"id": term["id"]} if "id" in term else term for term in terms]


def _identity(old: Spec, notes: FindingCollector, *, options: Options) -> Spec:
    role, profile = old.get("role"), old.get("instanceProfile")
    if role is None and profile:
        return {"instanceProfile": profile}
    if role is None or role in node_template.SPELLINGS:
        role = options.node_role or role or PLACEHOLDER
    if node_template.is_placeholder(role):
        message = f"role is {role}: put the name of the node role in its place, or give it as the node role"
        notes.add("node-role-placeholder", ("spec", "role"), what=message)
    node_template.check_role(role, ("spec", "role"), notes=notes)
    return {"role": role, **filled({"instanceProfile": profile})}


def _devices(old: Spec, notes: FindingCollector) -> list[dict[str, Any]]:
    devices: list[dict[str, Any]] = old.get("blockDeviceMappings") or []
    node_template.check(devices, ("spec", "blockDeviceMappings"), notes=notes)
    if old.get("amiFamily") == "Ubuntu" and not devices:
        return _UBUNTU_DEVICES
    return devices


def _metadata_options(old: Spec, notes: FindingCollector) -> Spec:
    options: Spec = old.get("metadataOptions") or {}
    missing = {key: value for key, value in _BETA_DEFAULTS.items() if key not in options}
    if missing:
        values = ", ".join(f"{key}: {value}" for key, value in missing.items())
        notes.add(
            "metadata-options-explicit", ("spec", "metadataOptions"), what=f"written out as v1beta1 had it: {values}"
        )
    return {key: options.get(key, value) for key, value in _BETA_DEFAULTS.items()}


def _warn(old: Spec, notes: FindingCollector) -> None:
    """Findings for what v1 does differently with the same manifest."""
    for name in ("subnetSelectorTerms", "securityGroupSelectorTerms", "amiSelectorTerms"):
        selectors.warn_of_commas(old.get(name) or [], ("spec", name), notes=notes)
        if name != "amiSelectorTerms" and not old.get(name):
            notes.add(
                "selector-missing", ("spec", name), what=f"{name} is empty; write at least one term before applying"
            )
    user_data, family = old.get("userData") or "", old.get("amiFamily")
    if family == "Custom" and "karpenter.sh/unregistered" not in user_data:
        message = (
            "the kubelet must register with the taint karpenter.sh/unregistered:NoExecute; userData does not name it"
        )
        notes.add("unregistered-taint", ("spec", "userData"), what=message)
    if family == "AL2023" and ("node.eks.aws" in user_data or "NodeConfig" in user_data):
        notes.add(
            "al2023-userdata",
            ("spec", "userData"),
            what="fields of the NodeConfig in userData lose against Karpenter's",
        )
    if old.get("associatePublicIPAddress") is None:
        message = "for private subnets Karpenter used to send associatePublicIPAddress: false and sends nothing now"
        notes.add("public-ip-default", ("spec", "associatePublicIPAddress"), what=message)


KUBELET: Final = "compatibility.karpenter.sh/v1beta1-kubelet-conversion"
UBUNTU: Final = "compatibility.karpenter.k8s.aws/v1beta1-ubuntu"

_INCOMPATIBLE: Final = "incompatible"
# Only the fields that are read are checked; v1 grows with every release, and other fields are copied unchanged.
_seen_map: Final = map_of(anything)
_CHECKED: Final[Mapping[str, FieldReader]] = {
    "template": _seen_map,
    "disruption": _seen_map,
    "limits": _seen_map,
    "kubelet": _seen_map,
    "amiSelectorTerms": list_of(_seen_map),
}
_CHECKED_TEMPLATE: Final[Mapping[str, FieldReader]] = {
    "nodeClassRef": map_of(text),
    "requirements": list_of(_seen_map),
}
_CHECKED_KUBELET: Final[Mapping[str, FieldReader]] = dict.fromkeys(
    ("systemReserved", "kubeReserved", "evictionSoftGracePeriod"), _seen_map
)
_KUBELET_AT: Final[FieldPath] = ("metadata", "annotations", KUBELET)


def _cleaned_manifest(body: Mapping[str, Any], notes: FindingCollector) -> dict[str, Any]:
    """The object with cleaned metadata and without status; everything else is unchanged."""
    head = metadata.cleaned(body, notes)
    spec = _seen_map(spec_of(body), ("spec",), notes=notes) or {}
    _check(spec, _CHECKED, path=("spec",), notes=notes)
    if isinstance(spec.get("kubelet"), Mapping):
        _check(spec["kubelet"], _CHECKED_KUBELET, path=("spec", "kubelet"), notes=notes)
    template = spec.get("template")
    inner = template.get("spec") if isinstance(template, Mapping) else None
    if inner is not None and _seen_map(inner, ("spec", "template", "spec"), notes=notes):
        _check(inner, _CHECKED_TEMPLATE, path=("spec", "template", "spec"), notes=notes)
    return {key: head if key == "metadata" else value for key, value in body.items() if key != "status"}


def _check(
    spec: Mapping[str, Any], table: Mapping[str, FieldReader], *, path: FieldPath, notes: FindingCollector
) -> None:
    for name, shape in table.items():
        if spec.get(name) is not None:
            shape(spec[name], (*path, name), notes=notes)


def finish_pool(body: Mapping[str, Any], notes: FindingCollector, *, known_names: KnownNames) -> list[ObjectDraft]:
    """The NodePool with the kubelet settings from its annotation held separately; empty if the object has an error."""
    manifest = _cleaned_manifest(body, notes)
    if notes.failed:
        return []
    draft = ObjectDraft(manifest, notes)
    draft.kubelet_at = _KUBELET_AT
    draft.kubelet = _parked_kubelet(body, notes)
    after = (spec_of(body).get("disruption") or {}).get("consolidateAfter")
    if draft.name in known_names.never_consolidated and after == "0s":
        message = "consolidateAfter was Never before the upgrade and is 0s now"
        notes.add(
            "consolidation-never-lost", ("spec", "disruption", "consolidateAfter"), what=message, proposal="Never"
        )
    return [] if notes.failed else [draft]


def _parked_kubelet(body: Mapping[str, Any], notes: FindingCollector) -> dict[str, Any] | None:
    parked = metadata.annotations_of(body).get(KUBELET)
    if not parked:
        return None
    try:
        kubelet = parse_json(parked)
    except ValueError:
        notes.add(
            "bad-type",
            _KUBELET_AT,
            what="the annotation is no JSON; look up the kubelet settings and write them by hand",
        )
        return None
    cleaned: dict[str, Any] | None = schema.KUBELET(kubelet, _KUBELET_AT, notes=notes)
    return {key: value for key, value in (cleaned or {}).items() if key != "containerRuntime"}


def finish_class(body: Mapping[str, Any], notes: FindingCollector) -> list[ObjectDraft]:
    """The EC2NodeClass without the webhook's marks; empty if the object has an error."""
    manifest = _cleaned_manifest(body, notes)
    if _INCOMPATIBLE in str(metadata.annotations_of(body).get(UBUNTU, "")):
        message = "the webhook put ami-placeholder into amiSelectorTerms: name the Ubuntu images there"
        notes.add("ubuntu-needs-ami-terms", ("spec", "amiSelectorTerms"), what=message)
    return [] if notes.failed else [ObjectDraft(manifest, notes)]
