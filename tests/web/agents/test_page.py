"""The page of a cluster's agent, and the registration that leads to it."""

import dataclasses
import re
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from migrations_app.models.audit import AuditEvent
from migrations_app.models.cluster import Cluster, ClusterAgent
from migrations_app.models.scan import Scan
from migrations_app.use_cases.agents.tokens import agent_of
from tests.use_cases.clusters.eks import KEYS

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def keys(settings):
    """An installation has keys, and a broker, which does not answer here."""
    settings.ENV = dataclasses.replace(settings.ENV, encryption_keys=KEYS)


SECRET = re.compile(r"kd_[A-Za-z0-9_-]{43}")


def registered(ada):
    answer = ada.post(reverse("cluster-new"), {"way": "agent", "name": "far", "do": "register"})
    assert answer.status_code == 200
    return Cluster.objects.get(name="far"), SECRET.findall(answer.content.decode())


def page(ada, cluster, **sent):
    address = reverse("cluster-agent", args=[cluster.pk])
    answer = ada.post(address, sent, follow=True) if sent else ada.get(address)
    assert answer.status_code == 200
    return answer.content.decode()


def test_the_token_is_shown_once_after_the_registration(ada):
    cluster, secrets = registered(ada)
    (secret,) = set(secrets)
    assert agent_of(secret).cluster == cluster
    assert (cluster.source, Scan.objects.count()) == ("agent", 0)
    shown = page(ada, cluster)
    assert (SECRET.search(shown), "not connected yet" in shown, "kind: Deployment" in shown) == (None, True, True)
    told = "".join(str(one.detail) for one in AuditEvent.objects.all())
    assert secret not in told


def test_the_token_is_shown_in_place_of_the_form(ada):
    said = {"way": "agent", "name": "far", "do": "register"}
    answer = ada.post(reverse("cluster-new"), said, headers={"HX-Request": "true"})
    address = reverse("cluster-agent", args=[Cluster.objects.get(name="far").pk])
    assert (answer.headers["HX-Retarget"], answer.headers["HX-Reselect"]) == ("#content", "#content")
    assert (answer.headers["HX-Push-Url"], bool(SECRET.search(answer.content.decode()))) == (address, True)


def test_a_taken_name_registers_nothing(ada):
    registered(ada)
    answer = ada.post(reverse("cluster-new"), {"way": "agent", "name": "far", "do": "register"})
    assert (answer.status_code, ClusterAgent.objects.count()) == (422, 1)


def test_the_connection_is_not_tested_before_the_agent_is_there(ada):
    answer = ada.post(reverse("cluster-new"), {"way": "agent", "name": "far", "do": "test"})
    assert "The agent is installed after the registration" in answer.content.decode()


def test_a_new_token_ends_the_one_before(ada):
    cluster, (before, *_) = registered(ada)
    answer = ada.post(reverse("cluster-agent", args=[cluster.pk]), {"do": "renew"})
    (secret,) = set(SECRET.findall(answer.content.decode()))
    assert (agent_of(before), agent_of(secret).cluster) == (None, cluster)


def test_a_revoked_token_opens_nothing(ada):
    cluster, (secret, *_) = registered(ada)
    shown = page(ada, cluster, do="revoke")
    assert (agent_of(secret), "revoked: its token opens nothing any more" in shown) == (None, True)
    assert "There was no token to revoke." in page(ada, cluster, do="revoke")
    assert AuditEvent.objects.filter(verb="agent.revoked").count() == 1


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"session": "s", "helm_in": "karpenter"}, "runs helm in"),
        ({"session": "s"}, "connected"),
        ({"session": ""}, "was stopped: the cluster counts as unreachable"),
        ({"session": "s", "refused_code": "agent_elsewhere"}, "Another agent with the same token dialled"),
    ],
)
def test_the_state_of_the_line_is_told(ada, columns, words):
    cluster, _ = registered(ada)
    now = timezone.now()
    told = {"heard_at": now, "connected_at": now, "refused_at": now, "release": "1.2.3", "acts": True}
    ClusterAgent.objects.update(**told | columns)
    shown = page(ada, cluster)
    assert (words in shown, "reads and acts" in shown, "1.2.3" in shown) == (True, True, True)


def test_an_agent_that_is_not_heard_of_is_lost(ada):
    cluster, _ = registered(ada)
    ClusterAgent.objects.update(heard_at=timezone.now() - timedelta(minutes=5), session="s")
    assert "lost: not heard of any more, so the cluster counts as unreachable" in page(ada, cluster)
