"""Puts the requests of the controller to SimulatePrincipalPolicy and compares the answers with our evaluator's."""

from collections.abc import Sequence

from migrations_app.flow.aws_reading import AwsReading, part
from migrations_app.inventory.aws import ControllerRole, CrossCheck, PolicyDocument
from migrations_app.inventory.aws_crosscheck import asked, compared, questions
from migrations_app.inventory.permissions import working
from migrations_app.inventory.seen import NOT_ASKED, Part, Seen, Unseen
from migrations_app.karpenter.iam.policy import Policy, parse_policy
from migrations_app.karpenter.iam.site import Site


def simulation(
    reading: AwsReading, roles: Part[ControllerRole], *, releases: Sequence[str], site: Site
) -> Part[CrossCheck]:
    """One row a request, for the role on which the controller's requests fall; Unseen where AWS does not simulate."""
    if isinstance(roles, Unseen):
        return roles
    judged = working(roles.items)
    unread = next((found for one in judged if (found := _unread(one))), None)
    if unread is not None:
        return unread
    if not judged or not releases:
        return NOT_ASKED
    return part(
        lambda: Seen(
            tuple(
                row
                for one in judged
                for release in releases
                for row in _checked(reading, one, release=release, site=site)
            )
        )
    )


def _unread(role: ControllerRole) -> Unseen | None:
    parts: tuple[Part[object], ...] = (role.role, role.policies, role.boundary)
    return next((found for found in parts if isinstance(found, Unseen)), None)


def _checked(reading: AwsReading, role: ControllerRole, *, release: str, site: Site) -> tuple[CrossCheck, ...]:
    if not role.role.items:
        return ()
    limit = _parsed(role.boundary) if role.boundary.items else None
    rows = asked(_parsed(role.policies), release=release, site=site, boundary=limit)
    replies = {question: reading.api.simulated(role.arn, question) for question in questions(rows)}
    return compared(rows, replies, release=release, role_arn=role.arn)


def _parsed(documents: Part[PolicyDocument]) -> list[Policy]:
    return [parse_policy(document.text, name=document.name) for document in documents.items]
