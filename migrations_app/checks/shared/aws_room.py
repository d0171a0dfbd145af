"""Evidence and remedies if AWS has no room for replacement nodes."""

from migrations_app.checks.base import CheckContext, Evidence, Unknown
from migrations_app.checks.changes import Change, PersonTask
from migrations_app.checks.remedies.aws import aws_call, could_not_read
from migrations_app.inventory.aws_facts.capacity_room import CapacityKind, CapacityLine
from migrations_app.inventory.parts import Unseen

KINDS: dict[CapacityKind, tuple[str, str, str]] = {
    "vcpus": ("ServiceQuota", "vCPUs", "vCPUs"),
    "addresses": ("Zone", "free addresses of subnets", "addresses"),
    "reserved": ("CapacityReservation", "free instances", "instances"),
    "offered": ("InstanceType", "zones", "types and zones"),
}
"""For each limit, the kind and path of its evidence, and the unit."""
TASKS: dict[str, tuple[str, str, str]] = {
    "Zone": (
        "add a subnet of the zone that its node classes select, or let fewer nodes go at once",
        "which addresses the VPC has left is a choice of its owner",
        "the subnets of the VPC",
    ),
    "CapacityReservation": (
        "enlarge the reservation, or let the pool take on-demand capacity as well",
        "reserved capacity costs money from the moment it is reserved",
        "the capacity reservations of the account",
    ),
    "InstanceType": (
        "let the pools choose other types or zones",
        "which types the workloads bear is a choice",
        "spec.template.spec.requirements of the NodePools",
    ),
}
"""By kind of evidence: the task for a person, its reason, and where to do it."""
AWS_DECIDES = "AWS decides on the request, which may take days"


def shortage(case: CheckContext, line: CapacityLine) -> Evidence:
    """Evidence for a limit that is too low, with the values for raising a quota."""
    kind, path, unit = KINDS[line.what]
    seen = f"{line.free} free" + (f" ({line.why})" if line.why else "")
    wanted = f"{line.need} {unit} at the peak of the rollout"
    evidence = Evidence(kind=kind, name=line.name, path=path, seen=seen, wanted=wanted)
    quota = next((vcpu_quota for vcpu_quota in case.inventory.aws.quotas.items if vcpu_quota.code == line.code), None)
    if quota is None:
        return evidence
    return evidence.with_data(code=quota.code, value=str((quota.used or 0) + (line.need or 0)))


def unknown_limit(case: CheckContext, line: CapacityLine) -> Unknown:
    """The Unknown for a limit that could not be compared, with the reason."""
    part = case.inventory.part(line.part) if line.part else None
    if isinstance(part, Unseen):
        return could_not_read(line.part, part)
    return Unknown(f"{KINDS[line.what][1]} of {line.name or 'no zone'}: {line.why or 'not known'}")


def make_room(case: CheckContext, row: Evidence) -> Change:
    """Makes room: a request to raise the quota; a manual task for every other limit."""
    if row.kind != "ServiceQuota":
        what, why, where = TASKS[row.kind]
        return PersonTask(what=f"{row.name}: {what}", why=why, where=where, aws=True)
    region = case.inventory.aws.place.region
    words = ("--service-code", "ec2", "--quota-code", row.value("code"), "--desired-value", row.value("value"))
    at = ("--region", region) if region else ()
    return aws_call("service-quotas", "request-service-quota-increase", *words, *at, final=AWS_DECIDES)
