"""Builds the controller's roles and their policies: `a_role(policy_for("0.37"))`."""

import json
from typing import Any

from migrations_app.iam.requirements.gaps import find_gaps
from migrations_app.iam.requirements.remedies import document_of, size_of, statements_to_add
from migrations_app.iam.site import AwsSite
from migrations_app.inventory.objects.aws import (
    AwsRole,
    ControllerRole,
    EksCluster,
    NodeRole,
    OidcProvider,
    PolicyDocument,
)
from migrations_app.inventory.parts import Seen
from tests.builders.clusters import PLACE, ACluster, a_cluster

ISSUER = "oidc.eks.eu-central-1.amazonaws.com/id/ABCDEF"
PROVIDER = f"arn:aws:iam::111122223333:oidc-provider/{ISSUER}"
NODE_ROLE = "KarpenterNodeRole-test"
SITE = AwsSite(cluster="test", account="111122223333", region="eu-central-1", node_roles=(NODE_ROLE,), queue="test")
EVERYTHING = {"Effect": "Allow", "Action": "*", "Resource": "*"}
Json = dict[str, Any]


def document(*statements: Json) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": list(statements)})


def policy_for(*releases: str, site: AwsSite = SITE, without: tuple[str, ...] = ()) -> str:
    """Returns a document that allows all that these releases need, except the named actions."""
    found = [
        one
        for release in releases
        for one in statements_to_add(find_gaps((), release=release, site=site), site).statements
    ]
    body = document_of(found)
    body["Statement"] = [thinned for one in body["Statement"] if (thinned := _thinned(one, without))]
    return json.dumps(body)


def _thinned(statement: Json, without: tuple[str, ...]) -> Json | None:
    actions = statement["Action"] if isinstance(statement["Action"], list) else [statement["Action"]]
    kept = [action for action in actions if action not in without]
    return statement | {"Action": kept} if kept else None


def managed(
    text: str, *, name: str = "KarpenterControllerPolicy-test", kind: Any = "customer_managed"
) -> PolicyDocument:
    return PolicyDocument(name=name, kind=kind, text=text, size=size_of(json.loads(text)))


def iam_role(name: str = "KarpenterController", *, trust: str = "{}") -> AwsRole:
    arn = f"arn:aws:iam::111122223333:role/{name}"
    return AwsRole(name=name, arn=arn, path="/", trust=trust, boundary_arn="")


def a_role(
    *texts: str | PolicyDocument, name: str = "KarpenterController", trust: str = "{}", **more: Any
) -> ControllerRole:
    """Returns the controller's role by IRSA with these policies; keyword arguments change its fields."""
    role = iam_role(name, trust=trust)
    documents = tuple(text if isinstance(text, PolicyDocument) else managed(text) for text in texts)
    given: dict[str, Any] = {
        "found_by": "irsa", "arn": role.arn, "role": Seen((role,)), "policies": Seen(documents),
        "boundary": Seen(()), "namespace": "kube-system", "service_account": "karpenter",
    }  # fmt: skip
    return ControllerRole(**given | more)


def a_node_role(name: str = NODE_ROLE) -> NodeRole:
    return NodeRole(name=name, role=Seen((iam_role(name),)), policies=Seen(()), inline=Seen(()), access_entry=Seen(()))


def eks(issuer: str = f"https://{ISSUER}") -> EksCluster:
    return EksCluster(
        name="test", arn=PLACE.arn, status="ACTIVE", version="1.29", endpoint="https://x",
        ca_data="", issuer=issuer, authentication_mode="API",
    )  # fmt: skip


def oidc(*client_ids: str) -> OidcProvider:
    return OidcProvider(arn=PROVIDER, url=ISSUER, client_ids=client_ids or ("sts.amazonaws.com",))


def permitted(version: str, *roles: ControllerRole, **parts: Any) -> ACluster:
    """Returns a cluster at that release whose controller has these roles, and whose nodes run as
    KarpenterNodeRole-test.
    """
    env = parts.pop("env", {"INTERRUPTION_QUEUE": "test"})
    aws = {"controller_roles": roles, "node_roles": (a_node_role(),)} | parts
    return a_cluster(version, env=env, kubernetes="1.27" if version.startswith("0.3") else "1.29").with_aws(**aws)
