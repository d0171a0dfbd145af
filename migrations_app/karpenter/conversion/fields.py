"""The fields of each kind that is read, with their types.

Sources: aws/karpenter-provider-aws@v0.32.10:pkg/apis/crds (alpha and the first v1beta1), @v0.37.8 (the last v1beta1),
@v0.32.10:pkg/apis/v1alpha1/provider.go (inline provider).
"""

from typing import Final

from migrations_app.karpenter.conversion.shapes import (
    LONGEST_SECONDS,
    Shape,
    anything,
    duration_kept,
    duration_or_never,
    duration_printed,
    fields,
    flag,
    list_of,
    map_of,
    one_of,
    quantity_canonical,
    quantity_kept,
    text,
    text_map,
    whole,
)

AMI_FAMILIES: Final = ("AL2", "AL2023", "Bottlerocket", "Ubuntu", "Custom", "Windows2019", "Windows2022")
OPERATORS: Final = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")

_seconds = whole(most=LONGEST_SECONDS, code="bad-duration", unit="a whole number of seconds")
_percent = whole(most=100, unit="a whole percentage")
_weight = whole(least=1, most=100)
_texts = list_of(text)


def _taints() -> Shape:
    effect = one_of("NoSchedule", "PreferNoSchedule", "NoExecute")
    return list_of(fields({"key": text, "value": text, "effect": effect, "timeAdded": text}, needed=("key", "effect")))


def _requirements(extra: dict[str, Shape]) -> Shape:
    table = {"key": text, "operator": one_of(*OPERATORS), "values": _texts, **extra}
    return list_of(fields(table, needed=("key", "operator")))


def _kubelet(*, quantity: Shape, grace: Shape) -> Shape:
    return fields(
        {
            "clusterDNS": _texts,
            "containerRuntime": text,
            "maxPods": whole(),
            "podsPerCore": whole(),
            "systemReserved": map_of(quantity),
            "kubeReserved": map_of(quantity),
            "evictionHard": text_map,
            "evictionSoft": text_map,
            "evictionSoftGracePeriod": map_of(grace),
            "evictionMaxPodGracePeriod": whole(code="bad-duration", unit="a whole number of seconds"),
            "imageGCHighThresholdPercent": _percent,
            "imageGCLowThresholdPercent": _percent,
            "cpuCFSQuota": flag,
        }
    )


def _devices(*, size: Shape, extra: dict[str, Shape]) -> Shape:
    ebs = fields(
        {
            "deleteOnTermination": flag,
            "encrypted": flag,
            "iops": whole(most=2**63 - 1),
            "kmsKeyID": text,
            "snapshotID": text,
            "throughput": whole(most=2**63 - 1),
            "volumeSize": size,
            "volumeType": text,
        }
    )
    return list_of(fields({"deviceName": text, "ebs": ebs, **extra}, present=("ebs",)))


METADATA_OPTIONS: Final = fields(
    {
        "httpEndpoint": one_of("enabled", "disabled"),
        "httpProtocolIPv6": one_of("enabled", "disabled"),
        "httpPutResponseHopLimit": whole(least=1, most=64),
        "httpTokens": one_of("required", "optional"),
    }
)
_ALPHA_DEVICES: Final = _devices(size=quantity_canonical, extra={})
KUBELET_ALPHA: Final = _kubelet(quantity=quantity_canonical, grace=duration_printed)
KUBELET: Final = _kubelet(quantity=quantity_kept, grace=duration_kept)

OBJECT: Final = fields({"apiVersion": text, "kind": text, "metadata": anything, "spec": anything, "status": anything})

PROVISIONER: Final = fields(
    {
        "annotations": text_map,
        "labels": text_map,
        "taints": _taints(),
        "startupTaints": _taints(),
        "requirements": _requirements({}),
        "kubeletConfiguration": KUBELET_ALPHA,
        "provider": anything,
        "providerRef": fields({"apiVersion": text, "kind": text, "name": text}),
        "ttlSecondsAfterEmpty": _seconds,
        "ttlSecondsUntilExpired": _seconds,
        "limits": fields({"resources": map_of(quantity_canonical)}),
        "weight": _weight,
        "consolidation": fields({"enabled": flag}),
    },
    present=("provider",),
)

_PROVIDER_TABLE: Final[dict[str, Shape]] = {
    "apiVersion": text,
    "kind": text,
    "amiFamily": one_of(*AMI_FAMILIES),
    "context": text,
    "instanceProfile": text,
    "subnetSelector": text_map,
    "securityGroupSelector": text_map,
    "tags": text_map,
    "launchTemplate": anything,
    "launchTemplateName": anything,
    "metadataOptions": METADATA_OPTIONS,
    "blockDeviceMappings": _ALPHA_DEVICES,
}
PROVIDER: Final = fields(_PROVIDER_TABLE, unknown="provider-unknown-field", present=("metadataOptions",))
NODE_TEMPLATE: Final = fields(
    {**_PROVIDER_TABLE, "amiSelector": text_map, "userData": text, "detailedMonitoring": flag},
    present=("metadataOptions",),
)

NODE_CLASS_REF: Final = fields({"apiVersion": text, "kind": text, "name": text})
_BETA_REQUIREMENTS: Final = _requirements({"minValues": whole(least=1, most=50)})
_BETA_TEMPLATE: Final = {
    "taints": _taints(),
    "startupTaints": _taints(),
    "requirements": _BETA_REQUIREMENTS,
    "kubelet": KUBELET,
    "nodeClassRef": NODE_CLASS_REF,
    "resources": anything,
}
NODE_POOL: Final = fields(
    {
        "template": fields(
            {"metadata": fields({"labels": text_map, "annotations": text_map}), "spec": fields(_BETA_TEMPLATE)}
        ),
        "disruption": fields(
            {
                "consolidationPolicy": one_of("WhenEmpty", "WhenUnderutilized"),
                "consolidateAfter": duration_or_never,
                "expireAfter": duration_or_never,
                "budgets": list_of(
                    fields({"nodes": text, "schedule": text, "duration": duration_kept}, needed=("nodes",))
                ),
            }
        ),
        "limits": map_of(quantity_kept),
        "weight": _weight,
    }
)
NODE_CLAIM: Final = fields(_BETA_TEMPLATE)


def _terms(*plain: str) -> Shape:
    return list_of(fields({**dict.fromkeys(plain, text), "tags": text_map}))


NODE_CLASS: Final = fields(
    {
        "amiFamily": one_of(*AMI_FAMILIES),
        "amiSelectorTerms": _terms("id", "name", "owner"),
        "subnetSelectorTerms": _terms("id"),
        "securityGroupSelectorTerms": _terms("id", "name"),
        "role": text,
        "instanceProfile": text,
        "userData": text,
        "tags": text_map,
        "context": text,
        "detailedMonitoring": flag,
        "associatePublicIPAddress": flag,
        "instanceStorePolicy": text,
        "blockDeviceMappings": _devices(size=quantity_kept, extra={"rootVolume": flag}),
        "metadataOptions": METADATA_OPTIONS,
    }
)
