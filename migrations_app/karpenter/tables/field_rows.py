"""The fields below `spec` that the CRDs of NodePool and EC2NodeClass know, and the release that brought each.

Read from pkg/apis/crds of every tag v0.32.0 .. v1.14.1 of aws/karpenter-provider-aws. No field of a version went while
releases served the version.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from migrations_app.karpenter import kinds


class FieldRow(NamedTuple):
    """A field without fields of its own, and the release from which its version of the CRD has it; "" if always.

    `[]` stands for the items of a list. What lies below the field is free, as the keys of labels. `later` are values
    that later releases brought, with their release.
    """

    path: str
    first: str = ""
    later: Mapping[str, str] = {}


def _rows(above: str, names: str, *, first: str = "") -> tuple[FieldRow, ...]:
    return tuple(FieldRow(f"{above}.{name}" if above else name, first) for name in names.split())


def _kubelet(above: str) -> tuple[FieldRow, ...]:
    return _rows(
        above,
        "clusterDNS cpuCFSQuota evictionHard evictionMaxPodGracePeriod evictionSoft evictionSoftGracePeriod"
        " imageGCHighThresholdPercent imageGCLowThresholdPercent kubeReserved maxPods podsPerCore systemReserved",
    )


_POOL: Final = (
    *_rows("", "limits weight"),
    *_rows("template.metadata", "annotations labels"),
    *_rows("template.spec.taints[]", "effect key timeAdded value"),
    *_rows("template.spec.startupTaints[]", "effect key timeAdded value"),
    *_rows("template.spec.requirements[]", "key values"),
)
_NODE_CLASS: Final = (
    *_rows("", "context detailedMonitoring role tags userData"),
    *_rows("amiSelectorTerms[]", "id name owner tags"),
    *_rows("subnetSelectorTerms[]", "id tags"),
    *_rows("securityGroupSelectorTerms[]", "id name tags"),
    *_rows("metadataOptions", "httpEndpoint httpProtocolIPv6 httpPutResponseHopLimit httpTokens"),
    *_rows("blockDeviceMappings[]", "deviceName rootVolume"),
    *_rows(
        "blockDeviceMappings[].ebs",
        "deleteOnTermination encrypted iops kmsKeyID snapshotID throughput volumeSize volumeType",
    ),
)
FIELD_ROWS: Final[Mapping[str, tuple[FieldRow, ...]]] = {
    f"{kinds.CORE_GROUP}/v1beta1 NodePool": (
        *_POOL,
        *_rows("disruption", "consolidateAfter consolidationPolicy expireAfter"),
        *_rows("disruption.budgets[]", "duration nodes schedule", first="0.34"),
        *_rows("template.spec.nodeClassRef", "apiVersion kind name"),
        FieldRow("template.spec.requirements[].operator"),
        FieldRow("template.spec.requirements[].minValues", "0.35"),
        FieldRow("template.spec.resources"),
        *_kubelet("template.spec.kubelet"),
    ),
    f"{kinds.CORE_GROUP}/v1 NodePool": (
        *_POOL,
        FieldRow("disruption.consolidateAfter"),
        FieldRow("disruption.consolidationPolicy", later={"Balanced": "1.14"}),
        *_rows("disruption.budgets[]", "duration nodes reasons schedule"),
        *_rows("template.spec", "expireAfter terminationGracePeriod"),
        *_rows("template.spec.nodeClassRef", "group kind name"),
        FieldRow("template.spec.requirements[].operator", later={"Gte": "1.9", "Lte": "1.9"}),
        FieldRow("template.spec.requirements[].minValues"),
        FieldRow("replicas", "1.8"),
    ),
    f"{kinds.AWS_GROUP}/v1beta1 EC2NodeClass": (
        *_NODE_CLASS,
        FieldRow("amiFamily", later={"AL2023": "0.35"}),
        FieldRow("instanceProfile", "0.32.2"),
        FieldRow("instanceStorePolicy", "0.34"),
        FieldRow("associatePublicIPAddress", "0.35"),
    ),
    f"{kinds.AWS_GROUP}/v1 EC2NodeClass": (
        *_NODE_CLASS,
        FieldRow("amiFamily", later={"Windows2025": "1.9"}),
        FieldRow("amiSelectorTerms[].alias", later={"windows2025@latest": "1.9"}),
        FieldRow("amiSelectorTerms[].ssmParameter", "1.4"),
        *_rows("", "associatePublicIPAddress instanceProfile instanceStorePolicy"),
        *_kubelet("kubelet"),
        *_rows("capacityReservationSelectorTerms[]", "id ownerID tags", first="1.3"),
        FieldRow("capacityReservationSelectorTerms[].instanceMatchCriteria", "1.8"),
        FieldRow("blockDeviceMappings[].ebs.volumeInitializationRate", "1.5"),
        FieldRow("ipPrefixCount", "1.8"),
        *_rows("networkInterfaces[]", "deviceIndex interfaceType networkCardIndex", first="1.11"),
        *_rows("placementGroupSelector", "id name", first="1.11"),
        *_rows("connectionTracking", "tcpEstablishedTimeout udpStreamTimeout udpTimeout", first="1.13"),
        FieldRow("cpuOptions.nestedVirtualization", "1.13"),
    ),
}
"""By apiVersion and kind."""
