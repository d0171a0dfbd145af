"""Names of AWS resources in the cluster's own objects: controller roles, node roles, instance profiles, the queue.

Also the rows of the ConfigMap aws-auth, and whether a node role is known to its cluster.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from migrations_app.errors import InvalidManifest
from migrations_app.iam.trust import AUDIENCE
from migrations_app.inventory.facts.controller import ABSENT, Installation, given_values, installation, value_at
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects.aws import AuthRow, EksCluster, NamedBy, NodeRole
from migrations_app.inventory.objects.cluster_arn import read_role_arn
from migrations_app.inventory.objects.karpenter import ConfigMap, ServiceAccount, WholeObject
from migrations_app.inventory.parts import Part, Seen, UnparsableObject, Unseen
from migrations_app.karpenter import labels
from migrations_app.karpenter.controller_settings import SETTINGS
from migrations_app.manifests.yaml_reader import compose

MAP_ROLES = "mapRoles"
NODE_GROUPS = frozenset({"system:bootstrappers", "system:nodes"})
NODE_ENTRIES = frozenset({"EC2_LINUX", "EC2_WINDOWS"})


def auth_rows(part: Part[ConfigMap]) -> Part[AuthRow]:
    """The rows of mapRoles; Unseen if the text is not a list of maps. Rows without a role are returned
    as unparsable.
    """
    if isinstance(part, Unseen):
        return part
    rows: list[AuthRow] = []
    bad: list[UnparsableObject] = []
    for config_map in part.items:
        try:
            listed = _map_roles((config_map.data or {}).get(MAP_ROLES, ""))
        except (yaml.YAMLError, InvalidManifest):
            return Unseen("garbled", f"{MAP_ROLES} of {config_map.name} is not a list in YAML")
        for number, row in enumerate(listed):
            auth_row = _row(row)
            if auth_row:
                rows.append(auth_row)
            else:
                bad.append(_set_aside(config_map, number))
    return Seen(tuple(rows), part.served, tuple(bad))


def _map_roles(text: str) -> list[Any]:
    documents = [document.value for document in compose(text)]
    rows = documents[0] if documents else None
    if rows is None:
        return []
    if not isinstance(rows, list):
        raise InvalidManifest("not a list")
    return rows


def _row(row: object) -> AuthRow | None:
    if not isinstance(row, dict) or not isinstance(row.get("rolearn"), str):
        return None
    groups = row.get("groups")
    named = tuple(group for group in groups if isinstance(group, str)) if isinstance(groups, list) else ()
    username = row.get("username")
    return AuthRow(role_arn=row["rolearn"], username=username if isinstance(username, str) else "", groups=named)


def _set_aside(config_map: ConfigMap, number: int) -> UnparsableObject:
    path = f"$.data.{MAP_ROLES}[{number}].rolearn"
    return UnparsableObject("ConfigMap", config_map.namespace, config_map.name, path, "the row names no role")


def known_by(node_role: NodeRole, cluster: EksCluster, *, rows: Part[AuthRow]) -> tuple[str, ...] | None:
    """How the cluster knows the node role: `aws-auth`, `access entry`, both or neither; None if that cannot be
    determined.

    aws-auth expects role ARNs without their path: a row that contains the path does not count. Nor does any row where
    the role has an access entry, or may have one.

    Source: Amazon EKS User Guide, Migrating existing aws-auth ConfigMap entries to access entries ("Access entries take
    precedence over ConfigMap entries for the same IAM principal").
    """
    ways = tuple(_ways(node_role, cluster, rows=rows))
    in_doubt = (cluster.asks_aws_auth and _doubtful(rows)) or (
        cluster.asks_access_entries and isinstance(node_role.access_entry, Unseen)
    )
    return None if in_doubt and not ways else ways


def _doubtful(rows: Part[AuthRow]) -> bool:
    return isinstance(rows, Unseen) or bool(rows.quarantined)


def _ways(node_role: NodeRole, cluster: EksCluster, *, rows: Part[AuthRow]) -> Iterator[str]:
    arns = {_without_path(role.arn) for role in node_role.role.items}
    in_rows = any(row.role_arn in arns and set(row.groups) >= NODE_GROUPS for row in rows.items)
    by_entry = cluster.asks_access_entries and any(entry.type in NODE_ENTRIES for entry in node_role.access_entry.items)
    no_entry = not cluster.asks_access_entries or node_role.access_entry == Seen(())
    if cluster.asks_aws_auth and in_rows and (by_entry or no_entry):
        yield "aws-auth"
    if by_entry:
        yield "access entry"


def _without_path(arn: str) -> str:
    role_arn = read_role_arn(arn)
    return f"arn:{role_arn.partition}:iam::{role_arn.account}:role/{role_arn.name}" if role_arn else arn


ROLE_NAME = re.compile(r"[\w+=,.@-]{1,64}", re.ASCII)
PROFILE_NAME = re.compile(r"[\w+=,.@-]{1,128}", re.ASCII)
QUEUE_NAME = re.compile(r"[A-Za-z0-9_-]{1,80}(\.fifo)?", re.ASCII)
MAX_NAMES = 200
"""Maximum number of node roles and profiles looked up in AWS; a cluster names a handful."""
_ROWS = {row.key: row for row in SETTINGS}


@dataclass(frozen=True, slots=True)
class NameWithSources:
    """A name with all the places that mention it."""

    name: str
    by: tuple[NamedBy, ...]


@dataclass(frozen=True, slots=True)
class ServiceAccountRef:
    """A service account of the controller; `annotated` is the role ARN of its annotation, empty without one. `audience`
    is that of the tokens with which its pods assume the role."""

    namespace: str
    name: str
    annotated: str
    audience: str = AUDIENCE


def controller_accounts(inventory: Inventory) -> Part[ServiceAccountRef]:
    """The service accounts that the controllers run as."""
    accounts = inventory.controller_accounts
    if isinstance(inventory.controller, Unseen):
        return inventory.controller
    if isinstance(accounts, Unseen):
        return accounts
    return Seen(tuple(map(_account, accounts.items)), accounts.served, accounts.quarantined)


def _account(account: ServiceAccount) -> ServiceAccountRef:
    arn = (account.metadata.annotation(labels.ROLE_ARN) or "").strip()
    audience = account.metadata.annotation(labels.ROLE_AUDIENCE)
    return ServiceAccountRef(account.namespace, account.name, arn, AUDIENCE if audience is None else audience)


def node_roles(inventory: Inventory) -> Part[NameWithSources]:
    """Names in spec.role of the node classes. Texts that are not role names, such as left-over placeholders, are
    returned as unparsable.
    """
    classes = inventory.ec2nodeclasses
    if isinstance(classes, Unseen):
        return classes
    role_names = [
        (ec2_node_class, "spec.role", str(role))
        for ec2_node_class in classes.items
        if (role := ec2_node_class.get("spec.role"))
    ]
    return _collected(role_names, kind="EC2NodeClass", form=ROLE_NAME)


def instance_profiles(inventory: Inventory) -> Part[NameWithSources]:
    """Names in spec.instanceProfile of node classes and templates, and the default of the global settings."""
    classes, templates = inventory.ec2nodeclasses, inventory.awsnodetemplates
    for part in (classes, templates, inventory.settings):
        if isinstance(part, Unseen):
            return part
    path = "spec.instanceProfile"
    from_classes = _profiles_of(classes.items, path)
    from_templates = _profiles_of(templates.items, path)
    seens = [_collected(from_classes, kind="EC2NodeClass", form=PROFILE_NAME)]
    seens.append(_collected(from_templates, kind="AWSNodeTemplate", form=PROFILE_NAME))
    return _with_default(inventory, _joined(seens))


def _profiles_of(objects: tuple[WholeObject, ...], path: str) -> list[tuple[WholeObject, str, str]]:
    return [(whole_object, path, str(profile)) for whole_object in objects if (profile := whole_object.get(path))]


def _with_default(inventory: Inventory, seen: Seen[NameWithSources]) -> Seen[NameWithSources]:
    default = default_profile(inventory)
    if not default:
        return seen
    by = NamedBy(kind="ConfigMap", name="karpenter-global-settings", path="data[aws.defaultInstanceProfile]")
    return _joined([seen, Seen((NameWithSources(default, (by,)),))])


def default_profile(inventory: Inventory) -> str:
    """The instance profile of templates that name none; empty where the global settings do not tell it."""
    default = _global(inventory, "aws.defaultInstanceProfile")
    return default if PROFILE_NAME.fullmatch(default) else ""


def _collected(
    named_values: Sequence[tuple[WholeObject, str, str]], *, kind: str, form: re.Pattern[str]
) -> Seen[NameWithSources]:
    names: dict[str, tuple[NamedBy, ...]] = {}
    bad: list[UnparsableObject] = []
    for whole_object, path, name in named_values:
        if not form.fullmatch(name):
            bad.append(UnparsableObject(kind, "", whole_object.name, f"$.{path}", "not a name that IAM could hold"))
        elif name in names or len(names) < MAX_NAMES:
            names[name] = (*names.get(name, ()), NamedBy(kind=kind, name=whole_object.name, path=path))
        else:
            bad.append(UnparsableObject(kind, "", whole_object.name, f"$.{path}", f"more than {MAX_NAMES} names"))
    return Seen(tuple(NameWithSources(name, by) for name, by in names.items()), None, tuple(bad))


def _joined(parts: list[Seen[NameWithSources]]) -> Seen[NameWithSources]:
    names: dict[str, tuple[NamedBy, ...]] = {}
    for part in parts:
        for sources in part.items:
            names[sources.name] = (*names.get(sources.name, ()), *sources.by)
    bad = tuple(bad for part in parts for bad in part.quarantined)
    return Seen(tuple(NameWithSources(name, by) for name, by in names.items()), None, bad)


def setting(inventory: Inventory, key: str) -> Part[str]:
    """A setting by its old key such as aws.interruptionQueueName: from the environment, the ConfigMap or Helm values.

    Empty if nothing sets it; Unseen if a source that could set it was not read.
    """
    controller = installation(inventory)
    if controller is None:
        return inventory.controller if isinstance(inventory.controller, Unseen) else Seen(())
    if value := next(filter(None, _setting_values(inventory, controller, key=key)), ""):
        return Seen((value,))
    variable = _ROWS[key].env
    # If the settings ConfigMap exists, the chart sets the variables from its keys.
    if controller.hides(variable) and (variable in controller.referred or not inventory.settings.items):
        return Unseen("not_asked", f"{variable} of the controller is taken from an object that is not read")
    return inventory.settings if isinstance(inventory.settings, Unseen) else Seen(())


def _setting_values(inventory: Inventory, controller: Installation, *, key: str) -> Iterator[str]:
    row = _ROWS[key]
    yield controller.env.get(row.env, "")
    yield _global(inventory, key)
    values = given_values(inventory)
    for name in (row.value, f"settings.{key}") if values and not controller.env.get("CLUSTER_NAME") else ():
        value = value_at(values.tree, name) if values else ABSENT
        yield "" if value is ABSENT else str(value)


def _global(inventory: Inventory, key: str) -> str:
    return next(
        (value for config_map in inventory.settings.items if (value := (config_map.data or {}).get(key, ""))), ""
    )


def own_credentials(inventory: Inventory) -> Iterator[tuple[str, str]]:
    """Names and values of environment variables that give the controller its own AWS credentials."""
    controller = installation(inventory)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_ROLE_ARN") if controller else ():
        if controller and name in controller.env:
            yield name, controller.env[name]


def class_tags(inventory: Inventory) -> dict[str, str]:
    """Tags of spec.tags that all node classes share: the controller sends them with every launch."""
    tag_maps = [ec2nodeclass.get("spec.tags") or {} for ec2nodeclass in inventory.ec2nodeclasses.items]
    every = [{str(key): str(value) for key, value in tags.items()} for tags in tag_maps if isinstance(tags, dict)]
    first = every[0] if every else {}
    return {key: value for key, value in first.items() if all(tags.get(key) == value for tags in every)}
