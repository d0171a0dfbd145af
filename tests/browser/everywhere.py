"""Every address of the site with something behind it: which are pages is read off their answers, not kept as a list."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from migrations_app.models.cluster import Cluster, ClusterAgent, ClusterGroup, ClusterLabel
from migrations_app.models.organization import AwsOrganization
from migrations_app.models.policy import Waiver
from migrations_app.models.scan import FleetScan
from migrations_app.models.service import ServiceAccountRow
from migrations_app.use_cases.notifications.channels import ChannelSettings, create_channel
from migrations_app.web.urls import urlpatterns
from tests.builders.campaigns import a_campaign
from tests.builders.journeys import a_journey
from tests.builders.pull_requests import a_pull_request
from tests.builders.rollouts import a_rollout
from tests.builders.rows import a_cluster, a_snapshot, some_nodes
from tests.use_cases.clusters.eks import KEYS

ABSENT = "00000000-0000-0000-0000-000000000001"
"""Of a kind of which nothing has a page: its addresses take a POST only."""
QUERIES = {
    "cluster-changes": "?before={before}&after={after}",
    "cluster-join": "?other={other}",
    "cluster-rollout-new": "?action=taint_and_drift",
    "cluster-waive": "?check=controller_off_bad_patches",
    "search": "?q=shop",
}
"""What has to be said for there to be a page."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What one address answers to a GET: `page` is True for a whole page of HTML."""

    name: str
    path: str
    status: int
    page: bool


def staged(settings) -> dict[str, str]:
    """Rows of everything that has a page. The values of the parameters of addresses, by their names."""
    settings.ENV = dataclasses.replace(settings.ENV, encryption_keys=KEYS)
    now = timezone.now()
    nodes = some_nodes(6)
    shop, again = (a_cluster(name, environment="production", kube_system_uid="u") for name in ("shop", "again"))
    far = a_cluster("far", source=Cluster.Source.AGENT)
    ClusterAgent.objects.create(cluster=far, prefix="kd_", digest="d", made_at=now)
    shots = [a_snapshot(shop, nodes=nodes, at=now), a_snapshot(shop, nodes=nodes[:3], at=now)]
    a_snapshot(again, at=now)
    group = ClusterGroup.objects.create(name="production in eu-west-1")
    group.clusters.add(shop)
    ClusterLabel.objects.create(cluster=shop, key="team", value="shop")
    Waiver.objects.create(
        check_id="drift_enabled", cluster=shop, reason="known", owner_name="ada", made_by_name="ada", made_at=now,
        ends_at=now + timedelta(days=9),
    )  # fmt: skip
    hook = ChannelSettings(name="ops", kind="webhook", target="https://hooks.example/x", events=("rollout.paused",))
    program = User.objects.create(username="service:prometheus")
    return {
        "cluster_id": str(shop.pk),
        "stays": str(shop.pk),
        "before": str(shots[0].pk),
        "after": str(shots[1].pk),
        "other": str(again.pk),
        "agent": str(far.pk),
        "group_id": str(group.pk),
        "rollout_id": str(a_rollout(shop, state="paused").pk),
        "journey_id": str(a_journey(shop, state="paused", at=2).pk),
        "campaign_id": str(a_campaign(shop, again, state="paused").pk),
        "pull_request_id": str(a_pull_request(shop).pk),
        "channel_id": str(create_channel(hook, by="ada", now=now).id),
        "fleet_scan_id": str(FleetScan.objects.create(requested_by="ada", total=2).pk),
        "service_id": str(ServiceAccountRow.objects.create(user=program, name="prometheus", scopes=["metrics"]).pk),
        "organization_id": str(
            AwsOrganization.objects.create(
                name="acme", hub_role_arn="arn:aws:iam::111122223333:role/hub", member_role="karpdash-reader",
                regions=["eu-west-1"], external_id="e", principal="arn:aws:iam::111122223333:role/karpdash",
            ).pk
        ),
    }  # fmt: skip


def answers(client: Client, rows: Mapping[str, str]) -> list[Answer]:
    """What each address that the site declares answers to a GET of an administrator."""
    return [_answer(client, str(route.name), rows=rows) for route in urlpatterns]


def _answer(client: Client, name: str, *, rows: Mapping[str, str]) -> Answer:
    route = next(one for one in urlpatterns if one.name == name)
    values = {key: _value(name, key, rows=rows) for key in route.pattern.converters}
    path = reverse(name, kwargs=values) + QUERIES.get(name, "").format_map(rows)
    got = client.get(path)
    text = "" if got.streaming else got.content[:200].decode(errors="replace")
    return Answer(name, path, got.status_code, "<!DOCTYPE html>" in text)


def _value(name: str, key: str, *, rows: Mapping[str, str]) -> str:
    other = {"cluster-agent": "agent", "cluster-journey": "other"}.get(name, key)
    return rows.get(other, ABSENT)
