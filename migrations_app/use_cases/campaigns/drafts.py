"""Drafts of campaigns: the recipe is checked and the clusters are chosen at once; workers preview each of them."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import msgspec
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from migrations_app.access import Person, may_prepare
from migrations_app.actions import registry
from migrations_app.campaigns.recipe import LONGEST_GATE_SOAK, PERSON_GATES, Gates, Limits, Recipe, Selection
from migrations_app.errors import InvalidInput
from migrations_app.journeys.compose import SOAK_SECONDS
from migrations_app.journeys.plan import COVERABLE
from migrations_app.karpenter.hops import HOPS
from migrations_app.karpenter.versions import parse, parse_minor
from migrations_app.models.campaign import Campaign, CampaignMember
from migrations_app.models.cluster import Cluster, ClusterLabel
from migrations_app.queries.visibility import permissions_of, visible
from migrations_app.use_cases.accounts.rights import over_every, refuse_person
from migrations_app.use_cases.audit.log import Actor, Event, record
from migrations_app.use_cases.campaigns.transitions import campaign_name
from migrations_app.use_cases.journeys.drafts import LONGEST_SOAK
from migrations_app.use_cases.rollouts.drafts import checked
from migrations_app.use_cases.rollouts.policies import MOST_WINDOWS, checked_window

LIFETIME = timedelta(hours=72)
"""How long a campaign may wait for its start."""
MOST_CLUSTERS = 1000
MOST_WAVES = 20
LONGEST_CAMPAIGN_NAME = 120
REGION = "region"
"""The label of a cluster that names its region."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignRequest:
    """What the author asks for."""

    name: str
    selection: Selection
    to: str = ""
    covers: str = "high"
    parameters: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    soak_seconds: int = SOAK_SECONDS
    waves: tuple[int, ...] = (1, 5, 0)
    order: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)
    gates: Gates = field(default_factory=Gates)
    windows: tuple[Mapping[str, Any], ...] = ()
    stop_all: bool = False
    ticket: str = ""
    note: str = ""


def draft_campaign(wanted: CampaignRequest, *, person: Person, by: Actor) -> uuid.UUID:
    """Creates a draft over the chosen clusters that the person may operate, and returns its id.

    Raises PermissionDenied, and InvalidInput that names the field: also `no_clusters` and `too_many` for the selection.
    """
    recipe = checked_recipe(wanted)
    name = wanted.name.strip()
    if not name or len(name) > LONGEST_CAMPAIGN_NAME or not name.isprintable():
        raise InvalidInput(f"a name of 1 to {LONGEST_CAMPAIGN_NAME} printable characters is needed", where="name")
    clusters = list(chosen(recipe.selection, person=person)[: MOST_CLUSTERS + 1])
    if not clusters:
        raise InvalidInput("no cluster that you may operate is chosen", where="selection", code="no_clusters")
    if len(clusters) > MOST_CLUSTERS:
        raise InvalidInput(f"at most {MOST_CLUSTERS} clusters", where="selection", code="too_many")
    refuse_person(may_prepare(over_every(person, [one.pk for one in clusters])))
    now = timezone.now()
    with transaction.atomic():
        row = Campaign.objects.create(
            name=name,
            recipe=msgspec.to_builtins(recipe),
            author_id=person.id,
            author_name=person.name,
            ticket=wanted.ticket[:200],
            note=wanted.note[:2000],
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
    """The clusters of the selection over which the person has the right to operate, by name."""
    rows = Cluster.objects.filter(visible("pk")).filter(_operated(person))
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


def checked_recipe(wanted: CampaignRequest) -> Recipe:
    """The recipe of the request. Raises InvalidInput that names the field."""
    if wanted.covers not in COVERABLE:
        raise InvalidInput("low, medium or high", where="covers", code="bad_parameter")
    if wanted.to and wanted.to not in HOPS and parse(wanted.to) is None and parse_minor(wanted.to) != wanted.to:
        raise InvalidInput("a hop, a release or a minor, such as 1.0", where="to", code="bad_parameter")
    _within("soak_seconds", wanted.soak_seconds, most=LONGEST_SOAK)
    _within("gates", wanted.gates.soak_seconds, most=LONGEST_GATE_SOAK)
    _within("gates", wanted.gates.most_stops, most=MOST_CLUSTERS)
    if wanted.gates.person not in PERSON_GATES:
        raise InvalidInput("never, first or every", where="gates", code="bad_parameter")
    for most in (wanted.limits.at_once, wanted.limits.per_region, wanted.limits.per_environment):
        _within("limits", most, most=MOST_CLUSTERS)
    if wanted.limits.at_once < 1:
        raise InvalidInput("at least 1 at once", where="limits", code="out_of_range")
    if not wanted.waves or len(wanted.waves) > MOST_WAVES:
        raise InvalidInput(f"1 to {MOST_WAVES} waves", where="waves", code="out_of_range")
    for size in wanted.waves:
        _within("waves", size, most=MOST_CLUSTERS)
    if len(wanted.windows) > MOST_WINDOWS:
        raise InvalidInput(f"at most {MOST_WINDOWS} windows", where="windows", code="too_many")
    return Recipe(
        selection=wanted.selection,
        to=wanted.to,
        covers=wanted.covers,
        parameters=_parameters(wanted.parameters),
        soak_seconds=wanted.soak_seconds,
        waves=wanted.waves,
        order=wanted.order,
        limits=wanted.limits,
        gates=wanted.gates,
        windows=tuple(checked_window(dict(one)) for one in wanted.windows),
        stop_all=wanted.stop_all,
    )


def _parameters(given: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for name, values in given.items():
        action = registry.find(name)
        if action is None:
            raise InvalidInput(f"there is no action {name[:60]!r}", where="parameters", code="unknown_action")
        full = checked(action, values)
        found[name] = {key: full[key] for key in values}
    return found


def _within(where: str, value: int, *, most: int) -> None:
    if not 0 <= value <= most:
        raise InvalidInput(f"0 to {most}", where=where, code="out_of_range")


def _add_members(row: Campaign, clusters: list[Cluster]) -> None:
    labels = ClusterLabel.objects.filter(cluster__in=[one.pk for one in clusters], key=REGION)
    regions = dict(labels.values_list("cluster_id", "value"))
    CampaignMember.objects.bulk_create(
        CampaignMember(
            campaign=row,
            cluster=one,
            cluster_name=one.name,
            environment=one.environment,
            region=regions.get(one.pk, ""),
            place=place,
        )
        for place, one in enumerate(clusters)
    )
