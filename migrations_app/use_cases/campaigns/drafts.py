"""Drafts of campaigns: checks the recipe and chooses the clusters at once; workers preview each cluster later."""

import uuid
from datetime import timedelta

import msgspec
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from migrations_app.access import Person, may_prepare
from migrations_app.campaigns.recipe import Selection
from migrations_app.errors import InvalidInput
from migrations_app.models.campaign import Campaign, CampaignMember
from migrations_app.models.cluster import Cluster, ClusterLabel
from migrations_app.queries.fleet.counted_clusters import ENVIRONMENT, counting_clusters
from migrations_app.queries.visibility import permissions_of, visible
from migrations_app.use_cases.accounts.rights import person_over_clusters, refuse_person
from migrations_app.use_cases.audit.log import Actor, Event, record
from migrations_app.use_cases.campaigns.requests import (
    LONGEST_CAMPAIGN_NAME,
    MAX_CLUSTERS,
    CampaignRequest,
    checked_recipe,
)
from migrations_app.use_cases.campaigns.transitions import campaign_name
from migrations_app.use_cases.rollouts.start_checks import refuse_without_action_workers

LIFETIME = timedelta(hours=72)
"""How long a campaign may wait for its start."""
REGION = "region"
"""The label of a cluster that names its region."""


def draft_campaign(request: CampaignRequest, *, person: Person, by: Actor) -> uuid.UUID:
    """Creates a draft over the chosen clusters that the person may operate, and returns its id.

    Raises PermissionDenied, and InvalidInput that names the field: also `no_clusters` and `too_many` for the selection.
    Raises Conflict `read_only` if there is no worker of the action queue.
    """
    refuse_without_action_workers()
    recipe = checked_recipe(request)
    name = request.name.strip()
    if not name or len(name) > LONGEST_CAMPAIGN_NAME or not name.isprintable():
        raise InvalidInput(f"a name of 1 to {LONGEST_CAMPAIGN_NAME} printable characters is needed", where="name")
    clusters = list(chosen(recipe.selection, person=person)[: MAX_CLUSTERS + 1])
    if not clusters:
        raise InvalidInput("no cluster that you may operate is chosen", where="selection", code="no_clusters")
    if len(clusters) > MAX_CLUSTERS:
        raise InvalidInput(f"at most {MAX_CLUSTERS} clusters", where="selection", code="too_many")
    refuse_person(may_prepare(person_over_clusters(person, [cluster.pk for cluster in clusters])))
    now = timezone.now()
    with transaction.atomic():
        row = Campaign.objects.create(
            name=name,
            recipe=msgspec.to_builtins(recipe),
            author_id=person.id,
            author_name=person.name,
            ticket=request.ticket[:200],
            note=request.note[:2000],
            made_at=now,
            changed_at=now,
            expires_at=now + LIFETIME,
        )
        _add_members(row, clusters)
        detail = {"clusters": len(clusters), "recipe": msgspec.to_builtins(recipe), "ticket": row.ticket}
        record(
            Event(
                verb="campaign.draft",
                actor=by,
                object=campaign_name(row),
                outcome="draft",
                correlation=str(row.pk),
                detail=detail,
            )
        )
    return row.pk


def chosen(selection: Selection, *, person: Person) -> QuerySet[Cluster]:
    """The clusters of the selection that the person has the right to operate, ordered by name.

    Sample clusters are among them if they count, or if the selection names them, their group or their environment.
    """
    rows = Cluster.objects.filter(visible("pk")).filter(_operated(person))
    if not (selection.clusters or selection.groups or ENVIRONMENT in selection.environments):
        rows = rows.filter(counting_clusters())
    if selection.clusters:
        rows = rows.filter(pk__in=selection.clusters)
    if selection.groups:
        members = Cluster.groups.through.objects.filter(clustergroup_id__in=selection.groups)
        rows = rows.filter(pk__in=members.values("cluster_id"))
    if selection.environments:
        rows = rows.filter(environment__in=selection.environments)
    for key, value in selection.labels:
        rows = rows.filter(pk__in=ClusterLabel.objects.filter(key=key, value=value).values("cluster_id"))
    return rows.defer("sealed").order_by("name")


def _operated(person: Person) -> Q:
    user = User.objects.filter(pk=person.id, is_active=True).first()
    standing = permissions_of(user) if user else None
    if standing is None:
        return Q(pk__in=())
    if {"operate", "administer"} & standing.everywhere:
        return Q()
    groups = standing.groups_with("operate") | standing.groups_with("administer")
    members = Cluster.groups.through.objects.filter(clustergroup_id__in=groups)
    return Q(pk__in=members.values("cluster_id"))


def _add_members(row: Campaign, clusters: list[Cluster]) -> None:
    labels = ClusterLabel.objects.filter(cluster__in=[cluster.pk for cluster in clusters], key=REGION)
    regions = dict(labels.values_list("cluster_id", "value"))
    CampaignMember.objects.bulk_create(
        CampaignMember(
            campaign=row,
            cluster=cluster,
            cluster_name=cluster.name,
            environment=cluster.environment,
            region=regions.get(cluster.pk, ""),
            place=place,
        )
        for place, cluster in enumerate(clusters)
    )
