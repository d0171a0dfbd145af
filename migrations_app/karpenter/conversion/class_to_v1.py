"""EC2NodeClass of v1beta1 to v1.

Source: aws/karpenter-provider-aws@v1.0.8:pkg/apis/v1/ec2nodeclass_conversion.go; where a v1 default differs from
what the old object did, the old behaviour is written out.
"""

from collections.abc import Mapping
from typing import Any, Final

from migrations_app.karpenter.conversion import fields, keys, metadata, roles, selectors, volumes
from migrations_app.karpenter.conversion.drafts import Draft, filled, manifest, spec_of
from migrations_app.karpenter.conversion.losses import Notes
from migrations_app.karpenter.conversion.options import Options

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


def convert_class(body: Mapping[str, Any], notes: Notes, *, options: Options) -> list[Draft]:
    """The v1 EC2NodeClass, or nothing when the object has an error."""
    head = metadata.cleaned(fields.OBJECT(body, (), notes=notes) or {}, notes)
    old: Spec = fields.NODE_CLASS(spec_of(body), ("spec",), notes=notes) or {}
    if notes.failed:
        return []
    if options.live:
        metadata.warn_of_markers(head, notes)
    version = str(metadata.annotations_of(body).get(ALIAS_VERSION) or _LATEST)
    spec = {
        **_images(old, notes, version=version),
        **_identity(old, notes, options=options),
        **filled({name: old.get(name) for name in ("subnetSelectorTerms", "securityGroupSelectorTerms", "userData")}),
        **filled({"tags": keys.open_tags(old.get("tags") or {}, ("spec", "tags"), notes=notes, v1=True)}),
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
    return [] if notes.failed else [Draft(manifest(API, "EC2NodeClass", metadata=head, spec=spec), notes)]


def _images(old: Spec, notes: Notes, *, version: str) -> Spec:
    """amiFamily and amiSelectorTerms of the new class."""
    family, terms = old.get("amiFamily"), old.get("amiSelectorTerms") or []
    at = ("spec", "amiSelectorTerms")
    if family is None:
        notes.add("ami-family-missing", ("spec", "amiFamily"), what="spec.amiFamily is missing; v1beta1 requires it")
    elif family == "Custom" and not terms:
        notes.add("custom-needs-ami-terms", at, what="amiFamily Custom needs amiSelectorTerms")
    elif family == "Ubuntu":
        return _ubuntu(terms, notes)
    elif not terms:
        return {"amiFamily": family, "amiSelectorTerms": [_alias(family, version, notes=notes)]}
    if family == "AL2":
        _warn_of_al2(notes)
    return {"amiFamily": family, "amiSelectorTerms": _plain_ids(terms, notes)}


def _alias(family: str, version: str, *, notes: Notes) -> dict[str, str]:
    alias = f"{family.lower()}@{version}"
    at = ("spec", "amiFamily")
    if version == _LATEST:
        pin = "" if family.startswith("Windows") else f"; to pin a version write {family.lower()}@v..."
        notes.add(
            "ami-alias-latest", at, what=f"images come from the alias {alias}, as they did from amiFamily {family}{pin}"
        )
    if family == "AL2":
        _warn_of_al2(notes)
    return {"alias": alias}


def _warn_of_al2(notes: Notes) -> None:
    what = "AL2 images end with Kubernetes 1.32; plan the move to AL2023 or Bottlerocket"
    notes.add("al2-end", ("spec", "amiFamily"), what=what)


def _ubuntu(terms: list[dict[str, Any]], notes: Notes) -> Spec:
    if not terms:
        proposal = [{"name": "ubuntu-eks/k8s_<version>/images/*", "owner": _UBUNTU_OWNER}]
        what = (
            "amiFamily Ubuntu without amiSelectorTerms: name the images there, for instance by Canonical's name"
            f" pattern with owner {_UBUNTU_OWNER} (confirm both)"
        )
        notes.add("ubuntu-needs-ami-terms", ("spec", "amiSelectorTerms"), what=what, proposal=proposal)
        return {}
    what = (
        "amiFamily is AL2 now, whose user data format Ubuntu shares; the long-term answer is amiFamily Custom with"
        " complete user data"
    )
    notes.add("ubuntu-as-al2", ("spec", "amiFamily"), what=what)
    return {"amiFamily": "AL2", "amiSelectorTerms": _plain_ids(terms, notes)}


def _plain_ids(terms: list[dict[str, Any]], notes: Notes) -> list[dict[str, Any]]:
    """The terms; those with an id beside terms without one lose their other filters, which v1 refuses.

    Where every term mixes id and filters, v1beta1 itself refused the class, so nothing is guessed."""
    mixed = [index for index, term in enumerate(terms) if "id" in term and len(term) > 1]
    for index in mixed:
        others = ", ".join(key for key in terms[index] if key != "id")
        what = f"{others} beside id has no effect in v1beta1, and v1 refuses the term"
        notes.add("selector-id-exclusive", ("spec", "amiSelectorTerms", index), what=what)
    if len(mixed) == len(terms):
        return terms
    return [{"id": term["id"]} if "id" in term else term for term in terms]


def _identity(old: Spec, notes: Notes, *, options: Options) -> Spec:
    role, profile = old.get("role"), old.get("instanceProfile")
    if role is None and profile:
        return {"instanceProfile": profile}
    if role is None or role in roles.SPELLINGS:
        role = options.node_role or role or roles.PLACEHOLDER
    if roles.is_placeholder(role):
        what = f"role is {role}: put the name of the node role in its place, or give it as the node role"
        notes.add("node-role-placeholder", ("spec", "role"), what=what)
    roles.check_role(role, ("spec", "role"), notes=notes)
    return {"role": role, **filled({"instanceProfile": profile})}


def _devices(old: Spec, notes: Notes) -> list[dict[str, Any]]:
    devices: list[dict[str, Any]] = old.get("blockDeviceMappings") or []
    volumes.check(devices, ("spec", "blockDeviceMappings"), notes=notes)
    if old.get("amiFamily") == "Ubuntu" and not devices:
        return _UBUNTU_DEVICES
    return devices


def _metadata_options(old: Spec, notes: Notes) -> Spec:
    given: Spec = old.get("metadataOptions") or {}
    missing = {key: value for key, value in _BETA_DEFAULTS.items() if key not in given}
    if missing:
        said = ", ".join(f"{key}: {value}" for key, value in missing.items())
        notes.add(
            "metadata-options-explicit", ("spec", "metadataOptions"), what=f"written out as v1beta1 had it: {said}"
        )
    return {key: given.get(key, value) for key, value in _BETA_DEFAULTS.items()}


def _warn(old: Spec, notes: Notes) -> None:
    """What v1 does differently although the manifest says the same."""
    for name in ("subnetSelectorTerms", "securityGroupSelectorTerms", "amiSelectorTerms"):
        selectors.warn_of_commas(old.get(name) or [], ("spec", name), notes=notes)
        if name != "amiSelectorTerms" and not old.get(name):
            notes.add(
                "selector-missing", ("spec", name), what=f"{name} is empty; write at least one term before applying"
            )
    user_data, family = old.get("userData") or "", old.get("amiFamily")
    if family == "Custom" and "karpenter.sh/unregistered" not in user_data:
        what = "the kubelet must register with the taint karpenter.sh/unregistered:NoExecute; userData does not name it"
        notes.add("unregistered-taint", ("spec", "userData"), what=what)
    if family == "AL2023" and ("node.eks.aws" in user_data or "NodeConfig" in user_data):
        notes.add(
            "al2023-userdata",
            ("spec", "userData"),
            what="fields of the NodeConfig in userData lose against Karpenter's",
        )
    if old.get("associatePublicIPAddress") is None:
        what = "for private subnets Karpenter used to send associatePublicIPAddress: false and sends nothing now"
        notes.add("public-ip-default", ("spec", "associatePublicIPAddress"), what=what)
