"""aws-auth and access entries: is a node role known to its cluster."""

import pytest

from migrations_app.inventory.aws_facts.names import auth_rows, known_by
from migrations_app.inventory.objects.aws import AccessEntry, AuthRow, NodeRole
from migrations_app.inventory.parts import Seen, UnparsableObject, Unseen
from tests.fakes.aws_api import a_cluster, a_role, role_arn
from tests.fakes.aws_inventory import config_map

ARN = role_arn("nodes")
NODES = ("system:bootstrappers", "system:nodes")
ROWS = """
- rolearn: arn:aws:iam::111122223333:role/nodes
  username: system:node:{{EC2PrivateDNSName}}
  groups: [system:bootstrappers, system:nodes]
- rolearn: arn:aws:iam::111122223333:role/people
  groups:
"""


def rows_of(text):
    return auth_rows(Seen((config_map("aws-auth", mapRoles=text),), "v1"))


def row(arn=ARN, groups=NODES):
    return Seen((AuthRow(role_arn=arn, username="u", groups=groups),))


def node_role(entry=None, path=""):
    part = entry if isinstance(entry, Unseen) else Seen((entry,) if entry else ())
    return NodeRole(
        name="nodes", role=Seen((a_role("nodes", path=path),)), policies=Seen(), inline=Seen(), access_entry=part
    )


def an_entry(kind):
    return AccessEntry(principal_arn=role_arn("nodes"), type=kind)


def test_rows_are_read():
    assert rows_of(ROWS) == Seen(
        (
            AuthRow(role_arn=role_arn("nodes"), username="system:node:{{EC2PrivateDNSName}}", groups=NODES),
            AuthRow(role_arn=role_arn("people"), username="", groups=()),
        ),
        "v1",
    )


@pytest.mark.parametrize("text", ["", "[]", "# nothing", "null"])
def test_no_rows_is_seen_and_empty(text):
    assert rows_of(text) == Seen((), "v1")


def test_no_config_map_is_seen_and_empty():
    assert auth_rows(Seen()) == Seen()


@pytest.mark.parametrize("text", ["a: b", "- [", "text", "- &a [*a]", "\t- x"])
def test_what_is_no_list_is_unseen(text):
    assert rows_of(text) == Unseen("garbled", "mapRoles of aws-auth is not a list in YAML")


def test_a_row_without_a_role_is_set_aside():
    assert rows_of("- userarn: x\n- 7") == Seen(
        (),
        "v1",
        tuple(
            UnparsableObject(
                "ConfigMap", "kube-system", "aws-auth", f"$.data.mapRoles[{n}].rolearn", "the row names no role"
            )
            for n in range(2)
        ),
    )


def test_what_was_not_seen_stays_unseen():
    assert auth_rows(Unseen("forbidden", "no")) == Unseen("forbidden", "no")


@pytest.mark.parametrize(
    ("mode", "rows", "entry", "known"),
    [
        ("CONFIG_MAP", row(), None, ("aws-auth",)),
        ("", row(), None, ("aws-auth",)),
        ("CONFIG_MAP", Seen(), an_entry("EC2_LINUX"), ()),
        ("API", row(), None, ()),
        ("API", Unseen("forbidden"), an_entry("EC2_LINUX"), ("access entry",)),
        ("API", Seen(), an_entry("STANDARD"), ()),
        ("API", Seen(), Unseen("forbidden"), None),
        ("API_AND_CONFIG_MAP", row(), an_entry("EC2_WINDOWS"), ("aws-auth", "access entry")),
        ("API_AND_CONFIG_MAP", Unseen("forbidden"), an_entry("EC2_LINUX"), ("access entry",)),
        ("API_AND_CONFIG_MAP", Unseen("forbidden"), None, None),
        ("API_AND_CONFIG_MAP", row(groups=("system:nodes",)), None, ()),
        ("CONFIG_MAP", Seen((), None, (UnparsableObject("ConfigMap", "", "aws-auth", "", ""),)), None, None),
    ],
)
def test_how_a_node_role_is_known(mode, rows, entry, known):
    assert known_by(node_role(entry), a_cluster(authentication_mode=mode), rows=rows) == known


def test_aws_auth_wants_the_arn_without_its_path():
    cluster = a_cluster(authentication_mode="CONFIG_MAP")
    assert known_by(node_role(path="team/"), cluster, rows=row()) == ("aws-auth",)
    assert known_by(node_role(path="team/"), cluster, rows=row(arn=role_arn("nodes", path="team/"))) == ()
