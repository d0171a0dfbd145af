"""A preview tells what its new nodes need against what AWS has, read for it; what could not be read is not known."""

from contextlib import contextmanager
from dataclasses import replace

import msgspec
import pytest

from migrations_app.actions.plan import Plan, stored_digest
from migrations_app.errors import Forbidden, InvalidInput
from migrations_app.inventory.objects.capacity import VcpuQuota
from migrations_app.models.cluster import Cluster
from migrations_app.use_cases.rollouts import preview
from migrations_app.use_cases.samples import clusters
from tests.builders.rollouts import a_rollout
from tests.fakes.aws_api import PLACE, FakeAws

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _keys(settings):
    settings.ENV = replace(settings.ENV, encryption_keys=(("k1", b"0" * 32),))


@pytest.fixture
def halfway():
    clusters.make_all()
    return Cluster.objects.get(name="live-halfway")


def planned(cluster, action="roll_nodes", **parameters) -> Plan:
    """The plan of that draft, once it was previewed."""
    row = a_rollout(cluster, state="draft", action=action, parameters=parameters)
    preview.prepare(row.pk)
    row.refresh_from_db()
    assert row.state == "previewed", row.cause
    assert stored_digest(bytes(row.plan)) == row.digest
    return msgspec.json.decode(bytes(row.plan), type=Plan)


def through(monkeypatch, api):
    @contextmanager
    def connect(*_given, **_more):
        if isinstance(api, Exception):
            raise api
        yield api

    monkeypatch.setattr(preview, "connect_aws", connect)


def told(plan):
    return {(line.what, line.standing) for line in plan.forecast.capacity}


def test_a_sample_cluster_has_room(halfway):
    plan = planned(halfway)
    assert told(plan) >= {("vcpus", "enough"), ("offered", "enough")}
    assert all(line.need for line in plan.forecast.capacity)


def test_a_quota_that_is_too_low_is_told_and_forbids_nothing(halfway, monkeypatch):
    full = VcpuQuota(code="L-1216C47A", limit=64, used=64, measured_at="2026-11-21T12:00:00Z")
    through(monkeypatch, FakeAws(quotas=(full,)))
    (line,) = [one for one in planned(halfway).forecast.capacity if one.what == "vcpus"]
    assert (line.name, line.free, line.standing) == ("On-Demand Standard", 0, "short")
    assert line.need > 0


@pytest.mark.parametrize(
    ("api", "why"),
    [
        (None, "AWS was not asked"),
        (Forbidden("may not sts:AssumeRole"), "forbidden: may not sts:AssumeRole"),
        (InvalidInput("no way in", code="no_aws_access"), "no_aws_access: no way in"),
        (FakeAws(fails={"caller": Forbidden("may not")}), "forbidden: may not"),
        (
            FakeAws(account="999900001111"),
            f"wrong_account: these credentials are of account 999900001111, the cluster is in {PLACE.account}",
        ),
    ],
)
def test_what_was_not_read_is_not_known(halfway, monkeypatch, api, why):
    through(monkeypatch, api)
    found = [one for one in planned(halfway).forecast.capacity if one.what != "pool"]
    assert {(one.what, one.standing, one.why) for one in found} == {
        (what, "unknown", why) for what in ("vcpus", "addresses", "offered")
    }
