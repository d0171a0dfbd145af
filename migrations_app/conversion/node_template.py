"""AWSNodeTemplate, or the provider block of a Provisioner, to EC2NodeClass; also the node role or instance profile and
the sizes of block devices.

A node role that is not known is written as a placeholder. Sources:
aws/karpenter-provider-aws@v0.32.10:pkg/utils/nodeclass/nodeclass.go and pkg/apis/v1alpha1/provider.go;
aws/karpenter-provider-aws@v0.37.8:pkg/apis/crds/karpenter.k8s.aws_ec2nodeclasses.yaml (volumeSize).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from migrations_app.conversion import metadata, quantities, schema, selectors
from migrations_app.conversion.findings import FieldPath, FindingCollector
from migrations_app.conversion.objects import PLACEHOLDER, KnownNames, ObjectDraft, Options, filled, manifest, spec_of
from migrations_app.conversion.schema import shown
from migrations_app.manifests.writer import Plain

# envsubst accepts both spellings
SPELLINGS: Final = (PLACEHOLDER, "${KARPENTER_NODE_ROLE}")


def identity(
    profile: str | None, path: FieldPath, *, notes: FindingCollector, options: Options, known_names: KnownNames
) -> dict[str, str]:
    """`role` or `instanceProfile` of the new class; exactly one of them."""
    profile_at = (*path, "instanceProfile")
    if options.keep_instance_profile and profile:
        return {"instanceProfile": profile}
    seen = known_names.role_of_profile.get(profile or known_names.default_profile or "")
    role = options.node_role or seen or PLACEHOLDER
    if role == PLACEHOLDER:
        used = f"the role of instance profile {profile}" if profile else "the role of the default instance profile"
        message = f"role is {PLACEHOLDER}: put the name of {used} in its place, or give it as the node role"
        notes.add("node-role-placeholder", profile_at, what=message, proposal={"instanceProfile": profile})
    check_role(role, profile_at, notes=notes)
    return {"role": role}


def check_role(role: str, path: FieldPath, *, notes: FindingCollector) -> None:
    """Adds a finding if the role is given as an ARN."""
    if role.startswith("arn:"):
        name = role.rpartition("/")[2]
        notes.add("role-is-arn", path, what=f"{role} is an ARN; the name of the role is {name}", proposal=name)


def is_placeholder(text: str) -> bool:
    """True if the text contains the placeholder for the node role."""
    return any(spelling in text for spelling in SPELLINGS)


def placeholder_paths(value: Plain, path: FieldPath = ()) -> Iterator[FieldPath]:
    """Every path in a manifest that contains the placeholder; such a manifest must never reach an API server."""
    if isinstance(value, str):
        if is_placeholder(value):
            yield path
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from placeholder_paths(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from placeholder_paths(item, (*path, index))


_SIZE: Final = re.compile(r"(?P<number>[1-9]\d{0,4})(?P<unit>Gi|G|Ti|T)", re.ASCII)
_MAX_SIZES: Final = {"Gi": 59000, "G": 64000, "Ti": 58, "T": 64}
_TEBIBYTE_ENDS: Final = 7  # the CRD's pattern accepts 10-17, 20-27 ... 50-57 and 58 above nine


def accepted_size(text: str) -> bool:
    """True if the CRDs of 0.37 and later accept this volume size."""
    match = _SIZE.fullmatch(text)
    if match is None or int(match["number"]) > _MAX_SIZES[match["unit"]]:
        return False
    number = int(match["number"])
    return match["unit"] != "Ti" or number <= 9 or number % 10 <= _TEBIBYTE_ENDS or number == _MAX_SIZES["Ti"]


def _with_served_sizes(devices: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The devices with sizes in canonical spelling, or in the user's where the CRDs accept that one alone: of 18432Gi
    and 18Ti the first.
    """
    return [
        {**device, "ebs": {**ebs, "volumeSize": _served_size(size)}}
        if (ebs := device.get("ebs")) and (size := ebs.get("volumeSize"))
        else device
        for device in devices
    ]


def _served_size(size: str) -> str:
    canonical = quantities.canonical(size) or size
    return size if accepted_size(size) and not accepted_size(canonical) else canonical


def check(devices: list[dict[str, Any]], path: FieldPath, *, notes: FindingCollector) -> None:
    """Adds a finding for each volume whose size is missing or would be refused."""
    for index, device in enumerate(devices):
        ebs = (device or {}).get("ebs")
        if ebs is None:
            continue
        size, ebs_at = ebs.get("volumeSize"), (*path, index, "ebs")
        if size is None:
            if not ebs.get("snapshotID"):
                notes.add("ebs-size-missing", ebs_at, what="neither volumeSize nor snapshotID is given")
        elif not accepted_size(size):
            message = f"{size} is not accepted; write a whole number of Gi or Ti, such as 50Gi"
            notes.add("volume-size-format", (*ebs_at, "volumeSize"), what=message)


_NOT_IN_ALPHA: Final = "AL2023"
CLASS_API: Final = "karpenter.k8s.aws/v1beta1"

# EC2's defaults for fields that a partial block omits (field comments of pkg/apis/v1alpha1/provider.go).
_EC2_DEFAULTS: Final = {
    "httpEndpoint": "enabled",
    "httpProtocolIPv6": "disabled",
    "httpPutResponseHopLimit": 1,
    "httpTokens": "optional",
}

Spec = dict[str, Any]


def convert_template(
    body: Mapping[str, Any],
    notes: FindingCollector,
    *,
    options: Options,
    known_names: KnownNames,
    cluster_dns: Sequence[str] = (),
) -> list[ObjectDraft]:
    """The EC2NodeClass; empty if the object has an error. `cluster_dns`: of the pools that use it."""
    head = metadata.cleaned(schema.OBJECT(body, (), notes=notes) or {}, notes)
    if options.live:
        head = metadata.without_markers(head, notes)
    template: Spec = schema.NODE_TEMPLATE(spec_of(body), ("spec",), notes=notes) or {}
    if notes.failed:
        return []
    spec = class_from_spec(
        template, ("spec",), notes=notes, options=options, known_names=known_names, cluster_dns=cluster_dns
    )
    return [] if notes.failed else [ObjectDraft(manifest(CLASS_API, "EC2NodeClass", metadata=head, spec=spec), notes)]


def class_from_spec(
    template: Spec,
    path: FieldPath,
    *,
    notes: FindingCollector,
    options: Options,
    known_names: KnownNames,
    cluster_dns: Sequence[str],
) -> Spec:
    """The spec of an EC2NodeClass from a checked template or provider block."""
    _refuse_launch_template(template, path, notes=notes)
    family = template.get("amiFamily") or "AL2"
    images = selectors.image_terms(template.get("amiSelector"), (*path, "amiSelector"), notes=notes)
    if family == "Custom" and not images:
        notes.add("custom-needs-ami-terms", (*path, "amiSelector"), what="amiFamily Custom needs an amiSelector")
    if family == _NOT_IN_ALPHA and options.to != "v1":
        message = f"0.32, which takes objects over from the alpha API, does not accept amiFamily {family} in v1beta1"
        notes.add("api-refuses", (*path, "amiFamily"), what=message)
    if family == "Ubuntu":
        message = "v1 has no Ubuntu family: there it becomes AL2 and needs an amiSelector that names the images"
        notes.add("ubuntu-as-al2", (*path, "amiFamily"), what=message)
    devices = _with_served_sizes(template.get("blockDeviceMappings") or [])
    check(devices, (*path, "blockDeviceMappings"), notes=notes)
    return {
        "amiFamily": family,
        **filled({"amiSelectorTerms": images}),
        **identity(template.get("instanceProfile"), path, notes=notes, options=options, known_names=known_names),
        **_networks(template, path, notes=notes),
        **filled(
            {
                "userData": template.get("userData"),
                "tags": metadata.open_tags(
                    template.get("tags") or {}, (*path, "tags"), notes=notes, minors=metadata.BETA_MINORS
                ),
                "blockDeviceMappings": devices,
                "metadataOptions": _metadata_options(
                    template, path, notes=notes, known_names=known_names, cluster_dns=cluster_dns
                ),
                "detailedMonitoring": template.get("detailedMonitoring"),
                "context": template.get("context"),
            }
        ),
    }


def _networks(template: Spec, path: FieldPath, *, notes: FindingCollector) -> Spec:
    return filled(
        {
            f"{name}Terms": selectors.network_terms(template.get(name), (*path, name), notes=notes)
            for name in ("subnetSelector", "securityGroupSelector")
        }
    )


def _refuse_launch_template(template: Spec, path: FieldPath, *, notes: FindingCollector) -> None:
    for name in ("launchTemplate", "launchTemplateName"):
        if template.get(name):
            message = (
                f"{'.'.join(map(str, path))}.{name} {shown(template[name])} has no counterpart: move what it sets"
                " (image, user data, volumes, security groups, metadata options) to amiSelector, userData,"
                " blockDeviceMappings, securityGroupSelector and metadataOptions, then remove it"
            )
            notes.add("launch-template-unsupported", (*path, name), what=message)


def _metadata_options(
    template: Spec, path: FieldPath, *, notes: FindingCollector, known_names: KnownNames, cluster_dns: Sequence[str]
) -> dict[str, Any] | None:
    """The options with omitted fields set to EC2's defaults; None if there is no block."""
    metadata_options: dict[str, Any] | None = template.get("metadataOptions")
    options_at = (*path, "metadataOptions")
    if metadata_options is None:
        if known_names.ipv6 or (known_names.ipv6 is None and any(":" in address for address in cluster_dns)):
            message = "on an IPv6 cluster the old default was httpProtocolIPv6: enabled; now it is disabled"
            notes.add("imds-ipv6", options_at, what=message, proposal={"httpProtocolIPv6": "enabled"})
        return None
    missing = {key: value for key, value in _EC2_DEFAULTS.items() if key not in metadata_options}
    if missing:
        values = ", ".join(f"{key}: {value}" for key, value in missing.items())
        notes.add("metadata-options-completed", options_at, what=f"written out as EC2 understood it: {values}")
    return {key: metadata_options.get(key, value) for key, value in _EC2_DEFAULTS.items()}
