"""AWSNodeTemplate to EC2NodeClass, also for the provider block inside a Provisioner.

Source: aws/karpenter-provider-aws@v0.32.10:pkg/utils/nodeclass/nodeclass.go and pkg/apis/v1alpha1/provider.go.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from migrations_app.karpenter.conversion import fields, keys, metadata, roles, selectors, volumes
from migrations_app.karpenter.conversion.drafts import Draft, filled, manifest, spec_of
from migrations_app.karpenter.conversion.losses import Notes, Path
from migrations_app.karpenter.conversion.options import Known, Options
from migrations_app.karpenter.conversion.shapes import shown

CLASS_API: Final = "karpenter.k8s.aws/v1beta1"

# What EC2 does with fields that a partial block leaves out (field comments of pkg/apis/v1alpha1/provider.go).
_EC2_DEFAULTS: Final = {
    "httpEndpoint": "enabled",
    "httpProtocolIPv6": "disabled",
    "httpPutResponseHopLimit": 1,
    "httpTokens": "optional",
}

Spec = dict[str, Any]


def convert_template(
    body: Mapping[str, Any], notes: Notes, *, options: Options, known: Known, cluster_dns: Sequence[str] = ()
) -> list[Draft]:
    """The EC2NodeClass, or nothing when the object has an error. `cluster_dns`: of the pools that use it."""
    head = metadata.cleaned(fields.OBJECT(body, (), notes=notes) or {}, notes)
    if options.live:
        head = metadata.without_markers(head, notes)
    found: Spec = fields.NODE_TEMPLATE(spec_of(body), ("spec",), notes=notes) or {}
    if notes.failed:
        return []
    spec = class_from_spec(found, ("spec",), notes=notes, options=options, known=known, cluster_dns=cluster_dns)
    return [] if notes.failed else [Draft(manifest(CLASS_API, "EC2NodeClass", metadata=head, spec=spec), notes)]


def class_from_spec(
    found: Spec, at: Path, *, notes: Notes, options: Options, known: Known, cluster_dns: Sequence[str]
) -> Spec:
    """The spec of an EC2NodeClass from a checked template or provider block."""
    _refuse_launch_template(found, at, notes=notes)
    family = found.get("amiFamily") or "AL2"
    images = selectors.image_terms(found.get("amiSelector"), (*at, "amiSelector"), notes=notes)
    if family == "Custom" and not images:
        notes.add("custom-needs-ami-terms", (*at, "amiSelector"), what="amiFamily Custom needs an amiSelector")
    if family == "Ubuntu":
        what = "v1 has no Ubuntu family: there it becomes AL2 and needs an amiSelector that names the images"
        notes.add("ubuntu-as-al2", (*at, "amiFamily"), what=what)
    devices = found.get("blockDeviceMappings")
    volumes.check(devices or [], (*at, "blockDeviceMappings"), notes=notes)
    return {
        "amiFamily": family,
        **filled({"amiSelectorTerms": images}),
        **roles.identity(found.get("instanceProfile"), at, notes=notes, options=options, known=known),
        **_networks(found, at, notes=notes),
        **filled(
            {
                "userData": found.get("userData"),
                "tags": keys.open_tags(found.get("tags") or {}, (*at, "tags"), notes=notes, v1=False),
                "blockDeviceMappings": devices,
                "metadataOptions": _metadata_options(found, at, notes=notes, known=known, cluster_dns=cluster_dns),
                "detailedMonitoring": found.get("detailedMonitoring"),
                "context": found.get("context"),
            }
        ),
    }


def _networks(found: Spec, at: Path, *, notes: Notes) -> Spec:
    return filled(
        {
            f"{name}Terms": selectors.network_terms(found.get(name), (*at, name), notes=notes)
            for name in ("subnetSelector", "securityGroupSelector")
        }
    )


def _refuse_launch_template(found: Spec, at: Path, *, notes: Notes) -> None:
    for name in ("launchTemplate", "launchTemplateName"):
        if found.get(name):
            what = (
                f"{'.'.join(map(str, at))}.{name} {shown(found[name])} has no counterpart: move what it sets (image,"
                " user data, volumes, security groups, metadata options) to amiSelector, userData, blockDeviceMappings,"
                " securityGroupSelector and metadataOptions, then remove it"
            )
            notes.add("launch-template-unsupported", (*at, name), what=what)


def _metadata_options(
    found: Spec, at: Path, *, notes: Notes, known: Known, cluster_dns: Sequence[str]
) -> dict[str, Any] | None:
    """The options with every gap filled as EC2 would fill it; None when there was no block at all."""
    given: dict[str, Any] | None = found.get("metadataOptions")
    options_at = (*at, "metadataOptions")
    if given is None:
        if known.ipv6 or (known.ipv6 is None and any(":" in address for address in cluster_dns)):
            what = "on an IPv6 cluster the old default was httpProtocolIPv6: enabled; now it is disabled"
            notes.add("imds-ipv6", options_at, what=what, proposal={"httpProtocolIPv6": "enabled"})
        return None
    missing = {key: value for key, value in _EC2_DEFAULTS.items() if key not in given}
    if missing:
        said = ", ".join(f"{key}: {value}" for key, value in missing.items())
        notes.add("metadata-options-completed", options_at, what=f"written out as EC2 understood it: {said}")
    return {key: given.get(key, value) for key, value in _EC2_DEFAULTS.items()}
