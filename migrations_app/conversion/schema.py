"""Field readers that check the type of a value and return it cleaned, and the fields of each kind that is read.

A reader takes the value, its path and the object's findings; a wrong type is an error with its path. Null is
treated as absent, as in the API server. Sources: aws/karpenter-provider-aws@v0.32.10:pkg/apis/crds (alpha and the
first v1beta1), @v0.37.8 (the last v1beta1), @v0.32.10:pkg/apis/v1alpha1/provider.go (inline provider).
"""

import json
from collections.abc import Collection, Mapping
from typing import Any, Final, Protocol

from migrations_app.conversion import quantities
from migrations_app.conversion.findings import FieldPath, FindingCollector
from migrations_app.manifests.writer import Plain


class FieldReader(Protocol):
    """A reader: returns the cleaned value, or None and adds an error finding."""

    def __call__(self, value: Any, path: FieldPath, /, *, notes: FindingCollector) -> Any:  # noqa: ANN401  # fields of any type are read
        ...


INT32: Final = 2**31 - 1
LONGEST_SECONDS: Final = (2**63 - 1) // 10**9  # maximum of a Go duration
_SHOWN: Final = 80
_JSON_INTEGERS: Final = 10**21  # from here on JSON writes a float with an exponent


def shown(value: Plain) -> str:
    """The value as the user wrote it, on one short line."""
    line = json.dumps(value, ensure_ascii=False, default=str)
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}..."


def _kind_of(value: Plain) -> str:
    if isinstance(value, bool):
        return "true/false"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return "text"
    return "a list" if isinstance(value, list) else "a map" if isinstance(value, Mapping) else "null"


def wrong(value: Plain, path: FieldPath, *, notes: FindingCollector, expected: str) -> None:
    """Adds a `bad-type` finding: the found and the expected type."""
    hint = "; put it in quotes" if expected == "text" and isinstance(value, bool | int | float) else ""
    notes.add("bad-type", path, what=f"{shown(value)} is {_kind_of(value)}, {expected} is wanted{hint}")


def anything(value: Plain, _at: FieldPath, *, notes: FindingCollector) -> Plain:  # noqa: ARG001  # a reader always gets findings
    """The value unchanged."""
    return value


def text(value: Plain, path: FieldPath, *, notes: FindingCollector) -> str | None:
    """The string; None with an error otherwise."""
    if isinstance(value, str):
        return value
    wrong(value, path, notes=notes, expected="text")
    return None


def flag(value: Plain, path: FieldPath, *, notes: FindingCollector) -> bool | None:
    """true or false; None with an error otherwise."""
    if isinstance(value, bool):
        return value
    wrong(value, path, notes=notes, expected="true or false")
    return None


def whole(*, least: int = 0, most: int = INT32, code: str = "bad-type", unit: str = "a whole number") -> FieldReader:
    """A reader of integers; values out of range are an error with that code."""

    def read(value: Plain, path: FieldPath, *, notes: FindingCollector) -> int | None:
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            wrong(value, path, notes=notes, expected=unit)
        elif not least <= value <= most:
            notes.add(code, path, what=f"{shown(value)} is out of range, {unit} from {least} to {most} is wanted")
        else:
            return value
        return None

    return read


def one_of(*words: str) -> FieldReader:
    """A reader of one of these words."""

    def read(value: Plain, path: FieldPath, *, notes: FindingCollector) -> str | None:
        if value in words and isinstance(value, str):
            return value
        notes.add("bad-type", path, what=f"{shown(value)} is not one of {', '.join(words)}")
        return None

    return read


def quantity_text(value: Plain) -> str | None:
    """The scalar as the API server sees it in JSON; None if it cannot be a quantity."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, float) and value.is_integer() and abs(value) < _JSON_INTEGERS:
        return str(int(value))
    return repr(value)


def _quantity(value: Plain, path: FieldPath, *, notes: FindingCollector) -> str | None:
    as_text = quantity_text(value)
    if as_text is not None and quantities.read(as_text) is not None:
        return as_text
    notes.add("bad-quantity", path, what=f"{shown(value)} is no quantity such as 500m, 2 or 16Gi")
    return None


def quantity_kept(value: Plain, path: FieldPath, *, notes: FindingCollector) -> str | None:
    """The quantity in the user's spelling, always as text."""
    return _quantity(value, path, notes=notes)


def quantity_canonical(value: Plain, path: FieldPath, *, notes: FindingCollector) -> str | None:
    """The quantity in canonical spelling."""
    as_text = _quantity(value, path, notes=notes)
    return None if as_text is None else quantities.canonical(as_text)


def _duration(value: Plain, path: FieldPath, *, notes: FindingCollector) -> int | None:
    if not isinstance(value, str):
        wrong(value, path, notes=notes, expected="text such as 30s or 1h30m")
        return None
    length = quantities.nanoseconds(value)
    if length is None or length < 0:
        days = "; days are no unit, write hours" if value.endswith("d") else ""
        notes.add("bad-duration", path, what=f"{shown(value)} is no duration such as 30s or 1h30m{days}")
        return None
    return length


def duration_kept(value: Plain, path: FieldPath, *, notes: FindingCollector) -> str | None:
    """The duration in the user's spelling."""
    return value if _duration(value, path, notes=notes) is not None else None


def duration_printed(value: Plain, path: FieldPath, *, notes: FindingCollector) -> str | None:
    """The duration in Go's format."""
    length = _duration(value, path, notes=notes)
    return None if length is None else quantities.text_of(length)


def duration_or_never(value: Plain, path: FieldPath, *, notes: FindingCollector) -> str | None:
    """`Never`, or a duration of whole h, m and s in the user's spelling."""
    if value == quantities.NEVER:
        return quantities.NEVER
    if _duration(value, path, notes=notes) is None:
        return None
    if not quantities.is_crd_duration(value):
        notes.add(
            "bad-duration", path, what=f"{shown(value)}: only whole h, m and s are accepted, such as 720h or 1h30m"
        )
        return None
    return str(value)


def list_of(shape: FieldReader) -> FieldReader:
    """A reader of lists whose items are read by `shape`."""

    def read(value: Plain, path: FieldPath, *, notes: FindingCollector) -> list[Any] | None:
        if not isinstance(value, list):
            wrong(value, path, notes=notes, expected="a list")
            return None
        return [shape(item, (*path, index), notes=notes) for index, item in enumerate(value)]

    return read


def map_of(shape: FieldReader) -> FieldReader:
    """A reader of maps whose values are read by `shape`."""

    def read(value: Plain, path: FieldPath, *, notes: FindingCollector) -> dict[str, Any] | None:
        if not isinstance(value, Mapping):
            wrong(value, path, notes=notes, expected="a map")
            return None
        return {key: shape(item, (*path, key), notes=notes) for key, item in value.items()}

    return read


def text_map(value: Plain, path: FieldPath, *, notes: FindingCollector) -> dict[str, str] | None:
    """A map of strings; null values become empty strings, as in Go."""
    if not isinstance(value, Mapping):
        wrong(value, path, notes=notes, expected="a map")
        return None
    return {key: "" if item is None else text(item, (*path, key), notes=notes) or "" for key, item in value.items()}


def fields(
    table: Mapping[str, FieldReader],
    *,
    needed: Collection[str] = (),
    unknown: str = "unknown-field",
    present: Collection[str] = (),
) -> FieldReader:
    """A reader of maps with these fields. Other fields are dropped with the finding `unknown`. Null and empty values
    are dropped too, except the empty fields in `present`, whose presence has a meaning.
    """

    def read(value: Plain, path: FieldPath, *, notes: FindingCollector) -> dict[str, Any] | None:
        if not isinstance(value, Mapping):
            wrong(value, path, notes=notes, expected="a map")
            return None
        result: dict[str, Any] = {}
        for key, item in value.items():
            shape = table.get(key)
            if shape is None:
                notes.add(unknown, (*path, key), what=f"{key} is no field of this API; its value was {shown(item)}")
            elif item is not None:
                cleaned = shape(item, (*path, key), notes=notes)
                if (cleaned or cleaned not in ({}, [])) or key in present:
                    result[key] = cleaned
        for key in needed:
            if result.get(key) is None and value.get(key) is None:
                notes.add("bad-type", (*path, key), what=f"{key} is missing")
        return result

    return read


AMI_FAMILIES: Final = ("AL2", "AL2023", "Bottlerocket", "Ubuntu", "Custom", "Windows2019", "Windows2022")
OPERATORS: Final = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")

_seconds = whole(most=LONGEST_SECONDS, code="bad-duration", unit="a whole number of seconds")
_percent = whole(most=100, unit="a whole percentage")
_weight = whole(least=1, most=100)
_texts = list_of(text)


def _no_empty_text(value: Plain, path: FieldPath, *, notes: FindingCollector) -> Any:  # noqa: ANN401  # {} is dropped
    return text(value, path, notes=notes) or {}


def _taints() -> FieldReader:
    effect = one_of("NoSchedule", "PreferNoSchedule", "NoExecute")
    table = {"key": text, "value": _no_empty_text, "effect": effect, "timeAdded": text}
    return list_of(fields(table, needed=("key", "effect")))


def _requirements(extra: dict[str, FieldReader]) -> FieldReader:
    table = {"key": text, "operator": one_of(*OPERATORS), "values": _texts, **extra}
    return list_of(fields(table, needed=("key", "operator")))


def _kubelet(*, quantity: FieldReader, grace: FieldReader) -> FieldReader:
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


def _devices(*, size: FieldReader, extra: dict[str, FieldReader]) -> FieldReader:
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
_ALPHA_DEVICES: Final = _devices(size=quantity_kept, extra={})
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

_PROVIDER_TABLE: Final[dict[str, FieldReader]] = {
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
                "budgets": list_of(fields({"nodes": text, "schedule": text, "duration": duration_kept})),
            },
            present=("budgets",),
        ),
        "limits": map_of(quantity_kept),
        "weight": _weight,
    }
)
NODE_CLAIM: Final = fields(_BETA_TEMPLATE)


def _terms(*plain: str) -> FieldReader:
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
