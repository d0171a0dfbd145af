"""Rows of the ConfigMap aws-auth, and how a node role is known to its cluster."""

from collections.abc import Iterator
from typing import Any

import yaml

from migrations_app.errors import BadManifest
from migrations_app.inventory.aws import AuthRow, EksCluster, NodeRole
from migrations_app.inventory.aws_place import read_role_arn
from migrations_app.inventory.objects import ConfigMap
from migrations_app.inventory.seen import Part, Quarantined, Seen, Unseen
from migrations_app.karpenter.yaml_compose import compose

MAP_ROLES = "mapRoles"
NODE_GROUPS = frozenset({"system:bootstrappers", "system:nodes"})
NODE_ENTRIES = frozenset({"EC2_LINUX", "EC2_WINDOWS"})


def auth_rows(part: Part[ConfigMap]) -> Part[AuthRow]:
    """The rows of mapRoles; Unseen where the text is no list of maps, and rows without a role set aside."""
    if isinstance(part, Unseen):
        return part
    rows: list[AuthRow] = []
    bad: list[Quarantined] = []
    for config_map in part.items:
        try:
            listed = _listed((config_map.data or {}).get(MAP_ROLES, ""))
        except (yaml.YAMLError, BadManifest):
            return Unseen("garbled", f"{MAP_ROLES} of {config_map.name} is not a list in YAML")
        for number, row in enumerate(listed):
            found = _row(row)
            if found:
                rows.append(found)
            else:
                bad.append(_set_aside(config_map, number))
    return Seen(tuple(rows), part.served, tuple(bad))


def _listed(text: str) -> list[Any]:
    documents = [document.value for document in compose(text)]
    found = documents[0] if documents else None
    if found is None:
        return []
    if not isinstance(found, list):
        raise BadManifest("not a list")
    return found


def _row(row: object) -> AuthRow | None:
    if not isinstance(row, dict) or not isinstance(row.get("rolearn"), str):
        return None
    groups = row.get("groups")
    named = tuple(group for group in groups if isinstance(group, str)) if isinstance(groups, list) else ()
    username = row.get("username")
    return AuthRow(role_arn=row["rolearn"], username=username if isinstance(username, str) else "", groups=named)


def _set_aside(config_map: ConfigMap, number: int) -> Quarantined:
    path = f"$.data.{MAP_ROLES}[{number}].rolearn"
    return Quarantined("ConfigMap", config_map.namespace, config_map.name, path, "the row names no role")


def known_by(node_role: NodeRole, cluster: EksCluster, *, rows: Part[AuthRow]) -> tuple[str, ...] | None:
    """Where the cluster knows the node role from: `aws-auth`, `access entry`, both or none; None when not to be told.

    aws-auth takes role ARNs without their path: a row that has the path does not count.
    """
    found = tuple(_ways(node_role, cluster, rows=rows))
    in_doubt = (cluster.asks_aws_auth and _doubtful(rows)) or (
        cluster.asks_access_entries and isinstance(node_role.access_entry, Unseen)
    )
    return None if in_doubt and not found else found


def _doubtful(rows: Part[AuthRow]) -> bool:
    return isinstance(rows, Unseen) or bool(rows.quarantined)


def _ways(node_role: NodeRole, cluster: EksCluster, *, rows: Part[AuthRow]) -> Iterator[str]:
    arns = {_without_path(role.arn) for role in node_role.role.items}
    if cluster.asks_aws_auth and any(row.role_arn in arns and set(row.groups) >= NODE_GROUPS for row in rows.items):
        yield "aws-auth"
    if cluster.asks_access_entries and any(entry.type in NODE_ENTRIES for entry in node_role.access_entry.items):
        yield "access entry"


def _without_path(arn: str) -> str:
    found = read_role_arn(arn)
    return f"arn:{found.partition}:iam::{found.account}:role/{found.name}" if found else arn
