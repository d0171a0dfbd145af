"""The token of a cluster's agent: created once, shown once, replaced or revoked at any time. Only its hash is
stored.
"""

import uuid
from contextlib import suppress
from dataclasses import dataclass

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from migrations_app.clients.agents.mailbox import AgentMailbox
from migrations_app.errors import InvalidInput, NotFound, ReadError
from migrations_app.models.cluster import Cluster, ClusterAgent
from migrations_app.use_cases.accounts.tokens import digest_of, new_secret
from migrations_app.use_cases.audit.log import record_audit_event, token_mark
from migrations_app.use_cases.clusters.registration import Details, new_row, require_cluster, save_new
from migrations_app.use_cases.journeys.lifecycle import void_journeys
from migrations_app.use_cases.rollouts.lifecycle import void_plans
from migrations_app.use_cases.runtime.connections import keys


@dataclass(frozen=True, slots=True)
class AgentSecret:
    """A new token of a cluster's agent; `secret` is shown once."""

    cluster: uuid.UUID
    secret: str


def register_agent(details: Details) -> AgentSecret:
    """Registers a cluster whose agent is not installed yet. Raises InvalidInput, and Conflict for a taken name."""
    with transaction.atomic():
        cluster = save_new(new_row(details, source=Cluster.Source.AGENT), None)
        return _issue(require_cluster(cluster), by=details.by)


def renew_agent_token(cluster_id: uuid.UUID, *, by: str) -> AgentSecret:
    """Creates a new token; the former token and its session end at once.

    The plans of the cluster expire and a running rollout pauses (A05). Raises NotFound, and InvalidInput for a cluster
    of another source.
    """
    cluster = require_cluster(cluster_id)
    if cluster.source != Cluster.Source.AGENT:
        raise InvalidInput(
            f"this cluster is not reached by an agent; its source is {cluster.source}", code="no_agent_here"
        )
    with transaction.atomic():
        before = ClusterAgent.objects.filter(cluster_id=cluster_id).first()
        secret = _issue(cluster, by=by)
        void_plans(cluster_id)
        void_journeys(cluster_id)
        if before is not None:
            transaction.on_commit(lambda: _silence(before))
    return secret


def revoke_agent_token(cluster_id: uuid.UUID) -> None:
    """Ends the token and its session at once. Raises NotFound if there is no valid token."""
    with transaction.atomic():
        row = ClusterAgent.objects.select_related("cluster").filter(cluster_id=cluster_id, revoked_at=None).first()
        if row is None:
            raise NotFound("no such token")
        ClusterAgent.objects.filter(pk=row.pk).update(revoked_at=timezone.now(), session="")
        _record_event("agent.revoked", row)
    _silence(row)


def agent_of(secret: str) -> ClusterAgent | None:
    """The agent with that valid token; None if it is unknown or revoked."""
    return ClusterAgent.objects.select_related("cluster").filter(digest=digest_of(secret), revoked_at=None).first()


def mailbox_of(row: ClusterAgent) -> AgentMailbox:
    """The mailbox in which workers and this agent leave messages for each other, for the session of the row."""
    return AgentMailbox(settings.ENV.broker_url, str(row.pk), keys(), row.session)


def _silence(row: ClusterAgent) -> None:
    """Tells waiting workers that the session is over; without a broker no worker waits."""
    with suppress(ReadError):
        mailbox_of(row).end_session()


def _issue(cluster: Cluster, *, by: str) -> AgentSecret:
    secret = new_secret()
    now = timezone.now()
    fresh = {"prefix": secret.prefix, "digest": digest_of(secret.text), "made_at": now, "made_by_name": by}
    gone = {"revoked_at": None, "session": "", "refused_at": None, "refused_code": ""}
    row, _ = ClusterAgent.objects.update_or_create(cluster=cluster, defaults=fresh | gone)
    _record_event("agent.token_made", row)
    return AgentSecret(cluster.pk, secret.text)


def _record_event(verb: str, row: ClusterAgent) -> None:
    name = row.cluster.name
    record_audit_event(verb, name, cluster_id=row.cluster_id, prefix=row.prefix, mark=token_mark(row.digest))
