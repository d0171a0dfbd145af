"""Roles that nodes run as: named by node classes, or held by the instance profiles that classes and templates name."""

from dataclasses import replace

from migrations_app.flow.aws_reading import AwsReading, each, one, part
from migrations_app.inventory import aws_named
from migrations_app.inventory.aws import AccessEntry, InstanceProfile, NamedBy, NodeRole, Role
from migrations_app.inventory.aws_named import Named
from migrations_app.inventory.aws_place import read_role_arn
from migrations_app.inventory.seen import Part, Quarantined, Seen, Unseen


def instance_profiles(reading: AwsReading) -> Part[InstanceProfile]:
    """Every profile that is named, with `exists` False where AWS has none."""
    named = aws_named.instance_profiles(reading.inventory)
    if isinstance(named, Unseen):
        return named
    found = each(named.items, lambda item: _profile(reading, item), kind="InstanceProfile", name=lambda item: item.name)
    if isinstance(found, Unseen):
        return found
    return replace(found, quarantined=(*named.quarantined, *found.quarantined))


def _profile(reading: AwsReading, named: Named) -> InstanceProfile:
    found = reading.api.instance_profile(named.name)
    return replace(found or InstanceProfile(name=named.name, exists=False), named_by=named.by)


def node_roles(reading: AwsReading, profiles: Part[InstanceProfile]) -> Part[NodeRole]:
    """Every node role once; profiles that could not be read are set aside here too, since they may hold another."""
    named = aws_named.node_roles(reading.inventory)
    if isinstance(named, Unseen):
        return named
    names = {item.name: item.by for item in named.items}
    for name, by in _held(profiles):
        names[name] = (*names.get(name, ()), *by)
    bad = (*named.quarantined, *_doubts(profiles))
    return Seen(tuple(_role(reading, Named(name, by)) for name, by in names.items()), None, bad)


def _held(profiles: Part[InstanceProfile]) -> list[tuple[str, tuple[NamedBy, ...]]]:
    arns = [(arn, profile.named_by) for profile in profiles.items for arn in profile.role_arns]
    return [(parsed.name, by) for arn, by in arns if (parsed := read_role_arn(arn))]


def _doubts(profiles: Part[InstanceProfile]) -> tuple[Quarantined, ...]:
    if isinstance(profiles, Seen):
        return tuple(bad for bad in profiles.quarantined if bad.kind == "InstanceProfile")
    return (Quarantined("InstanceProfile", "", "", "", profiles.detail or profiles.why),)


def _role(reading: AwsReading, named: Named) -> NodeRole:
    role: Part[Role] = part(lambda: one(reading.api.role(named.name)))
    names = [found.name for found in role.items]
    if isinstance(role, Unseen):
        return NodeRole(name=named.name, role=role, policies=role, inline=role, access_entry=role, named_by=named.by)
    return NodeRole(
        name=named.name,
        role=role,
        policies=part(lambda: Seen(tuple(row for name in names for row in reading.api.attached_policies(name)))),
        inline=part(lambda: Seen(tuple(row for name in names for row in reading.api.inline_names(name)))),
        access_entry=_access_entry(reading, role),
        named_by=named.by,
    )


def _access_entry(reading: AwsReading, role: Seen[Role]) -> Part[AccessEntry]:
    if isinstance(reading.cluster, Unseen):
        return reading.cluster
    asked = [found.arn for cluster in reading.cluster.items if cluster.asks_access_entries for found in role.items]
    return part(lambda: Seen(tuple(entry for arn in asked if (entry := reading.api.access_entry(arn)))))
