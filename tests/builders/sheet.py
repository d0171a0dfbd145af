"""Builds controller roles with documents, inventories with these roles, and IAM sheets."""

import json
from dataclasses import replace
from typing import Any

from migrations_app.iam.requirements.gaps import find_gaps
from migrations_app.iam.requirements.remedies import statements_to_add
from migrations_app.iam.site import AwsSite
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects.aws import AwsRole, AwsSeen, ControllerRole, CrossCheck, PolicyDocument
from migrations_app.inventory.objects.cluster_arn import AwsPlace
from migrations_app.inventory.parts import NOT_ASKED, Part, Seen
from migrations_app.readiness.iam_sheet.build import IamSheet, iam_sheet
from tests.fakes.aws_inventory import an_inventory, controller, node_class

PLACE = AwsPlace(region="eu-west-1", cluster="shop", account="444455556666")
SITE = AwsSite(cluster="shop", region="eu-west-1", account="444455556666")
ARN = "arn:aws:iam::444455556666:role/karpenter"
HOPS = (("0.32", "0.32.10"), ("0.33+", "0.37.8"), ("1.0", "1.0.14"))
NODES = "KarpenterNodeRole-shop"
EVERYTHING = {"Effect": "Allow", "Action": "*", "Resource": "*"}


def a_site(**parts: Any) -> Inventory:
    """Returns a cluster with exactly the settings that are assumed of any cluster."""
    usual = {"controller": (controller(INTERRUPTION_QUEUE="shop"),), "ec2nodeclasses": (node_class(role=NODES),)}
    return an_inventory(**usual | parts)


def text_of(*statements: dict[str, Any]) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": list(statements)})


def allow(*actions: str, resource: str | list[str] = "*", **more: Any) -> dict[str, Any]:
    return {"Effect": "Allow", "Action": list(actions), "Resource": resource, **more}


def needed_by(release: str) -> str:
    """Returns a narrow document that allows all that the release needs at the site, as text."""
    statements = statements_to_add(find_gaps((), release=release, site=SITE), SITE).statements
    return text_of(*(one.as_json() for one in statements))


def a_document(text: str, name: str = "controller", **more: Any) -> PolicyDocument:
    more.setdefault("kind", "customer_managed")
    return PolicyDocument(name=name, text=text, size=len("".join(text.split())), **more)


def a_controller_role(*documents: PolicyDocument | str, arn: str = ARN, **more: Any) -> ControllerRole:
    """Returns a role found by its annotation; texts become documents."""
    made = tuple(one if isinstance(one, PolicyDocument) else a_document(one) for one in documents)
    name = arn.rpartition("/")[2]
    role = AwsRole(name=name, arn=arn, path="/", trust="{}", boundary_arn="")
    parts: dict[str, Any] = {"role": Seen((role,)), "policies": Seen(made), "boundary": Seen(())}
    home = {"namespace": "kube-system", "service_account": "karpenter", "found_by": "irsa"}
    return ControllerRole(**({"arn": arn} | home | parts | more))


def saw_roles(
    *roles: ControllerRole,
    inventory: Inventory | None = None,
    simulation: Part[CrossCheck] = NOT_ASKED,
    controller_roles: Part[ControllerRole] | None = None,
) -> Inventory:
    """Returns an inventory whose AWS part has these roles; `controller_roles` replaces the part, such as by an unseen
    one.
    """
    found = Seen(roles) if controller_roles is None else controller_roles
    aws = AwsSeen(place=PLACE, controller_roles=found, simulation=simulation)
    return replace(inventory or a_site(), aws=aws)


def a_sheet(
    *roles: ControllerRole, hops: tuple[tuple[str, str], ...] = HOPS, running: str = "0.31.4", **more: Any
) -> IamSheet:
    """Returns the IAM sheet of such an inventory."""
    return iam_sheet(saw_roles(*roles, **more), hops=hops, running=running)
