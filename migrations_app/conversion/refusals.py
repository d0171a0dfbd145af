"""What the CRD of the target refuses in a converted NodePool or EC2NodeClass.

Rules that both v1beta1 and v1 have, and those of one of the two; limits that an earlier step reports are not repeated.
Sources: aws/karpenter-provider-aws@v0.32.10, @v0.37.8 and @v1.0.14:pkg/apis/crds.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from migrations_app.conversion import quantities
from migrations_app.conversion.findings import FieldPath, FindingCollector
from migrations_app.conversion.metadata import BETA_MINORS, is_refused_tag, is_restricted
from migrations_app.conversion.objects import template_spec
from migrations_app.conversion.schema import shown

MISSING: Final = "selector-missing"
OLDER: Final = "older-field"
EMPTY: Final = "selector-term-empty"
REFUSED: Final = "api-refuses"
_AMI, _SUBNET, _GROUP = "amiSelectorTerms", "subnetSelectorTerms", "securityGroupSelectorTerms"
_ID_START: Final = {_AMI: "ami-", _SUBNET: "subnet-", _GROUP: "sg-"}
_ID: Final = {name: re.compile(f".*{start}[0-9a-z]+.*", re.ASCII | re.DOTALL) for name, start in _ID_START.items()}
_FILTERS: Final = {_AMI: ("id", "name", "tags"), _SUBNET: ("id", "tags"), _GROUP: ("id", "name", "tags")}
_ALL_FILTERS: Final = ("id", "name", "tags", "owner", "alias")
_EXCLUSIVE: Final = {_AMI: ("id",), _SUBNET: ("id",), _GROUP: ("id", "name")}
_NODES: Final = re.compile(r"((100|[0-9]{1,2})%|[0-9]+)", re.ASCII)
# The CRD looks for five fields anywhere; from the start of each line is the same, and takes time as the length.
_SCHEDULE: Final = re.compile(
    r"\A@(annually|yearly|monthly|weekly|daily|midnight|hourly)|^.+\s.+\s.+\s.+\s.+", re.ASCII | re.MULTILINE
)
_WINDOW: Final = re.compile(r"([0-9]+(h|m)|[0-9]+h[0-9]+m)(0s)?", re.ASCII)
_MAX_BUDGETS: Final = 50
_QUALIFIED: Final = re.compile(
    r"([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]",
    re.ASCII,
)
_LONGEST_KEY: Final = 316  # of a requirement
_MAX_INTEGER: Final = 2**63 - 1
_LABEL_VALUE: Final = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9])?", re.ASCII)
_OLDER_FIELDS: Final[Mapping[str, Mapping[FieldPath, str]]] = {
    "karpenter.sh/v1 NodePool": {
        ("disruption", "expireAfter"): "spec.template.spec.expireAfter",
        ("template", "spec", "kubelet"): "spec.kubelet of the EC2NodeClass",
        ("template", "spec", "resources"): "",
        ("template", "spec", "nodeClassRef", "apiVersion"): "group, without the version",
        ("annotations",): "spec.template.metadata.annotations",
        ("labels",): "spec.template.metadata.labels",
        ("taints",): "spec.template.spec.taints",
        ("startupTaints",): "spec.template.spec.startupTaints",
        ("requirements",): "spec.template.spec.requirements",
        ("kubeletConfiguration",): "spec.kubelet of the EC2NodeClass",
        ("provider",): "an EC2NodeClass",
        ("providerRef",): "spec.template.spec.nodeClassRef",
        ("consolidation",): "spec.disruption.consolidationPolicy",
        ("ttlSecondsAfterEmpty",): "spec.disruption.consolidateAfter",
        ("ttlSecondsUntilExpired",): "spec.template.spec.expireAfter",
    },
    "karpenter.k8s.aws/v1 EC2NodeClass": {
        ("amiSelector",): "spec.amiSelectorTerms",
        ("subnetSelector",): "spec.subnetSelectorTerms",
        ("securityGroupSelector",): "spec.securityGroupSelectorTerms",
        ("launchTemplate",): "",
    },
}
"""Fields below `spec` that the kind or its predecessor had before v1 and no release of v1 has, and where v1 has their
value; empty if nowhere.
"""
_VOLUME_TYPES: Final = ("standard", "io1", "io2", "gp2", "sc1", "st1", "gp3")


class CrdRefusal(NamedTuple):
    """The code of the finding, the path in the converted object and the reason."""

    code: str
    path: FieldPath
    what: str


def note_refusals(body: Mapping[str, Any], notes: FindingCollector) -> None:
    """Adds a finding for each part of the v1beta1 or v1 object that its CRD refuses.

    `notes` may be of the object of the alpha API that this one was made of; the path is then that of the old field.
    """
    seen = {(loss.code, loss.at) for loss in notes.losses}
    for refusal in refusals(body):
        path = _old_path(refusal.path, body=body, notes=notes)
        if (refusal.code, path) not in seen:
            seen.add((refusal.code, path))
            notes.add(refusal.code, path, what=refusal.what)


def note_older_fields(body: Mapping[str, Any], notes: FindingCollector) -> None:
    """Adds a finding for each field of the v1 object that only an older generation has."""
    for refusal in older_fields(body):
        notes.add(refusal.code, refusal.path, what=refusal.what)


def older_fields(body: Mapping[str, Any]) -> Iterator[CrdRefusal]:
    """The fields of this object that only an older generation has; empty for an object that is not of v1."""
    rows = _OLDER_FIELDS.get(f"{body.get('apiVersion')} {body.get('kind')}", {})
    for path, successor in rows.items():
        value = _at(body, ("spec", *path))
        if value is not None:
            instead = f"write it as {successor}" if successor else "take it out"
            what = f"v1 has no {'.'.join(map(str, ('spec', *path)))}, which is {shown(value)} here; {instead}"
            yield CrdRefusal(OLDER, ("spec", *path), what)


def _at(body: Mapping[str, Any], path: FieldPath) -> Any:  # noqa: ANN401  # fields of any type are read
    """The value at the path; None if there is none."""
    value: Any = body
    for step in path:
        value = value.get(step) if isinstance(value, Mapping) else None
    return value


def _old_path(path: FieldPath, *, body: Mapping[str, Any], notes: FindingCollector) -> FieldPath:
    if notes.kind == "Provisioner" and body["kind"] == "NodePool":
        return ("spec", *path[3:]) if path[1] == "template" else path
    if notes.kind not in ("Provisioner", "AWSNodeTemplate"):
        return path
    start: FieldPath = ("spec", "provider") if notes.kind == "Provisioner" else ("spec",)
    field = str(path[1])
    return (*start, field.removesuffix("Terms")) if field in _FILTERS else (*start, *path[1:])


def refusals(body: Mapping[str, Any]) -> Iterator[CrdRefusal]:
    """What the CRD refuses in this v1beta1 or v1 object, whose fields have the right types."""
    spec = body.get("spec") or {}
    is_v1 = not str(body["apiVersion"]).endswith("beta1")
    if body["kind"] == "EC2NodeClass":
        for name in _FILTERS:
            yield from _term_refusals(spec.get(name) or [], name, is_v1=is_v1)
        yield from identity_refusals(spec)
        yield from _volume_refusals(spec)
        if not is_v1:
            yield from _beta_class_refusals(spec)
    elif body["kind"] == "NodePool":
        yield from budget_refusals((spec.get("disruption") or {}).get("budgets") or [])
        yield from _label_refusals((spec.get("template") or {}).get("metadata") or {})
        yield from _node_refusals(template_spec(body))
        if not is_v1:
            yield from _consolidation_refusals(spec.get("disruption") or {})
            yield from _beta_pool_refusals(spec.get("template") or {})


def is_filled_in(value: str) -> bool:
    """True for a value that envsubst or a template fills in before the object is applied."""
    return "${" in value or "{{" in value


def _fits(pattern: re.Pattern[str], value: str) -> bool:
    return is_filled_in(value) or pattern.fullmatch(value) is not None


def _term_refusals(terms: list[dict[str, Any]], name: str, *, is_v1: bool) -> Iterator[CrdRefusal]:
    if not terms and name != _AMI:
        yield CrdRefusal(MISSING, ("spec", name), f"{name} is empty; write at least one term before applying")
    known = (*_FILTERS[name], "alias") if is_v1 and name == _AMI else _FILTERS[name]
    for index, term in enumerate(terms):
        at: FieldPath = ("spec", name, index)
        if not any(term.get(key) for key in known):
            yield CrdRefusal(
                EMPTY, at, f"{shown(term)} selects by none of {', '.join(known)}; write one of them before applying"
            )
        for key, value in (term.get("tags") or {}).items():
            if not key or not value:
                yield CrdRefusal(
                    REFUSED, (*at, "tags", key), "a tag without a key or a value; * stands for every value"
                )
        if term.get("id") and not _fits(_ID[name], term["id"]):
            yield CrdRefusal(REFUSED, (*at, "id"), f"{shown(term['id'])} is no id, which begins with {_ID_START[name]}")
    for key in _EXCLUSIVE[name]:
        yield from _mix_refusals(terms, name, key=key, each=is_v1 and name == _AMI)


def _mix_refusals(terms: list[dict[str, Any]], name: str, *, key: str, each: bool) -> Iterator[CrdRefusal]:
    """v1 refuses each image term that has an id beside other filters; other terms are refused if all are like that."""
    mixed = [
        index
        for index, term in enumerate(terms)
        if term.get(key) and any(term.get(other) for other in _ALL_FILTERS if other != key)
    ]
    for index in mixed if each or len(mixed) == len(terms) else ():
        others = ", ".join(other for other in _ALL_FILTERS if other != key and terms[index].get(other))
        yield CrdRefusal(REFUSED, ("spec", name, index), f"{key} beside {others}; keep one of the two")


def identity_refusals(spec: Mapping[str, Any]) -> Iterator[CrdRefusal]:
    """What v1beta1 and v1 refuse of role and instance profile in the spec of an EC2NodeClass."""
    given = [name for name in ("role", "instanceProfile") if spec.get(name) is not None]
    if len(given) != 1:
        found = "both role and instanceProfile are given" if given else "neither role nor instanceProfile is given"
        yield CrdRefusal(REFUSED, ("spec", "instanceProfile" if given else "role"), f"{found}; give exactly one")
    for name in given:
        if not spec[name]:
            yield CrdRefusal(REFUSED, ("spec", name), f"{name} is empty")


def _volume_refusals(spec: Mapping[str, Any]) -> Iterator[CrdRefusal]:
    devices = spec.get("blockDeviceMappings") or []
    path: FieldPath = ("spec", "blockDeviceMappings")
    if sum(device.get("rootVolume") is True for device in devices) > 1:
        yield CrdRefusal(REFUSED, path, "more than one device is the root volume")
    for index, device in enumerate(devices):
        kind = (device.get("ebs") or {}).get("volumeType")
        if kind is not None and kind not in _VOLUME_TYPES:
            what = f"{shown(kind)} is not one of {', '.join(_VOLUME_TYPES)}"
            yield CrdRefusal(REFUSED, (*path, index, "ebs", "volumeType"), what)
    policy = spec.get("instanceStorePolicy")
    if policy not in (None, "RAID0"):
        yield CrdRefusal(REFUSED, ("spec", "instanceStorePolicy"), f"{shown(policy)} is not RAID0")


def budget_refusals(budgets: list[dict[str, Any]]) -> Iterator[CrdRefusal]:
    """What v1beta1 and v1 refuse of these disruption budgets, whose fields are texts."""
    path: FieldPath = ("spec", "disruption", "budgets")
    if len(budgets) > _MAX_BUDGETS:
        yield CrdRefusal(REFUSED, path, f"{len(budgets)} budgets; the API accepts {_MAX_BUDGETS}")
    for index, budget in enumerate(budgets):
        at = (*path, index)
        nodes, schedule, duration = (budget.get(name) for name in ("nodes", "schedule", "duration"))
        if nodes is not None and not _fits(_NODES, nodes):
            yield CrdRefusal(REFUSED, (*at, "nodes"), f"{shown(nodes)} is neither a number nor 0% to 100%")
        if schedule is not None and not is_filled_in(schedule) and not _SCHEDULE.search(schedule):
            yield CrdRefusal(
                REFUSED, (*at, "schedule"), f"{shown(schedule)} is no schedule such as @daily or 0 9 * * 1"
            )
        if duration is not None and not _fits(_WINDOW, duration):
            yield CrdRefusal(
                REFUSED, (*at, "duration"), f"{shown(duration)} is not of whole hours and minutes as in 1h30m"
            )
        if (schedule is None) != (duration is None):
            yield CrdRefusal(REFUSED, at, "schedule and duration belong together, and only one of them is given")


def _label_refusals(head: Mapping[str, Any]) -> Iterator[CrdRefusal]:
    for key, value in (head.get("labels") or {}).items():
        if value is not None and not _fits(_LABEL_VALUE, value):
            at: FieldPath = ("spec", "template", "metadata", "labels", key)
            yield CrdRefusal(REFUSED, at, f"{shown(value)} is no value of a label")


def _node_refusals(template: Mapping[str, Any]) -> Iterator[CrdRefusal]:
    path: FieldPath = ("spec", "template", "spec")
    for name in ("taints", "startupTaints"):
        for index, taint in enumerate(template.get(name) or []):
            for key in ("key", "value"):
                if taint.get(key) is not None and not _fits(_QUALIFIED, taint[key]):
                    yield CrdRefusal(REFUSED, (*path, name, index, key), f"{shown(taint[key])} is no {key} of a taint")
    for index, row in enumerate(template.get("requirements") or []):
        at = (*path, "requirements", index)
        if not _fits(_QUALIFIED, row["key"]) or len(row["key"]) > _LONGEST_KEY:
            yield CrdRefusal(REFUSED, (*at, "key"), f"{shown(row['key'])} is no key of a label")
        least, values = row.get("minValues"), row.get("values") or []
        if row.get("operator") == "In" and least is not None and len(values) < least:
            yield CrdRefusal(
                REFUSED, (*at, "minValues"), f"minValues is {least}, and only {len(values)} values are listed"
            )


def _consolidation_refusals(disruption: Mapping[str, Any]) -> Iterator[CrdRefusal]:
    """What v1beta1 alone refuses: v1 has the time to wait with both policies."""
    policy, after = disruption.get("consolidationPolicy"), disruption.get("consolidateAfter")
    at: FieldPath = ("spec", "disruption", "consolidateAfter")
    if policy == "WhenEmpty" and after is None:
        yield CrdRefusal(REFUSED, at, "WhenEmpty needs consolidateAfter, such as 30s or Never")
    if policy != "WhenEmpty" and after not in (None, quantities.NEVER):
        yield CrdRefusal(REFUSED, at, f"consolidateAfter {after} with WhenUnderutilized, which accepts only Never")


def _beta_class_refusals(spec: Mapping[str, Any]) -> Iterator[CrdRefusal]:
    """What an EC2NodeClass lacks that was written for v1beta1; the conversions report it for what they make."""
    family = spec.get("amiFamily")
    if family is None:
        yield CrdRefusal(REFUSED, ("spec", "amiFamily"), "amiFamily is missing")
    if family == "Custom" and not spec.get(_AMI):
        yield CrdRefusal(REFUSED, ("spec", _AMI), f"amiFamily Custom needs {_AMI}")
    for index, device in enumerate(spec.get("blockDeviceMappings") or []):
        ebs = device.get("ebs")
        if ebs is not None and not ebs.get("volumeSize") and not ebs.get("snapshotID"):
            at: FieldPath = ("spec", "blockDeviceMappings", index, "ebs")
            yield CrdRefusal("ebs-size-missing", at, "neither volumeSize nor snapshotID is given")
    for key in spec.get("tags") or {}:
        if not key or is_refused_tag(key, BETA_MINORS):
            what = f"{shown(key)} is a tag that Karpenter sets itself" if key else "a tag without a key"
            yield CrdRefusal(REFUSED, ("spec", "tags", key), what)


def _beta_pool_refusals(template: Mapping[str, Any]) -> Iterator[CrdRefusal]:
    """Missing and forbidden keys of a NodePool that was written for v1beta1; the conversions leave such keys out."""
    head, spec = template.get("metadata") or {}, template.get("spec") or {}
    path: FieldPath = ("spec", "template", "spec")
    if not (spec.get("nodeClassRef") or {}).get("name"):
        yield CrdRefusal(REFUSED, (*path, "nodeClassRef"), "nodeClassRef.name is missing; name the node class")
    if spec.get("requirements") is None:
        yield CrdRefusal(REFUSED, (*path, "requirements"), "requirements is missing; [] stands for none")
    if spec.get("resources"):
        what = f"{shown(spec['resources'])} is given, and only an empty map is accepted"
        yield CrdRefusal(REFUSED, (*path, "resources"), what)
    keys = [
        ((*path, "requirements", index, "key"), row["key"]) for index, row in enumerate(spec.get("requirements") or [])
    ]
    keys += [(("spec", "template", "metadata", "labels", key), key) for key in head.get("labels") or {}]
    for at, key in keys:
        if is_restricted(key):
            yield CrdRefusal(REFUSED, at, f"{shown(key)} is a key that a NodePool may not set")
    for index, row in enumerate(spec.get("requirements") or []):
        if what := values_refusal(row):
            yield CrdRefusal(REFUSED, (*path, "requirements", index, "values"), what)


def values_refusal(requirement: Mapping[str, Any]) -> str:
    """What v1beta1 and v1 refuse in the values of the requirement, for its operator; empty if nothing."""
    operator, values = requirement.get("operator"), requirement.get("values") or []
    if operator == "In" and not values:
        return "In needs at least one value"
    if operator in ("Gt", "Lt") and not (len(values) == 1 and _is_whole(str(values[0]))):
        return f"{operator} needs exactly one whole number, written as text"
    return ""


def _is_whole(text: str) -> bool:
    """True for digits that the rule of the CRD reads as an integer of 64 bits, and for what is filled in."""
    if is_filled_in(text):
        return True
    digits = text.lstrip("0") or "0"
    return text.isascii() and text.isdigit() and len(digits) <= len(str(_MAX_INTEGER)) and int(digits) <= _MAX_INTEGER
