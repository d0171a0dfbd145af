"""A dry run of every kind of request leaves the cluster as it is, by the server's own word (K14)."""

import pytest

from migrations_app.actions.request import ObjectVersion, marks
from migrations_app.use_cases.runtime.connections import connect_writer
from tests.use_cases.rollouts import building

pytestmark = [pytest.mark.django_db(transaction=True)]
OWN = marks("rollout", "digest")


def steps(server):
    yield building.tainting(*building.node(server))
    yield building.painting(*building.config_map(server))
    yield building.deleting(*building.node(server, "node-2"))
    yield building.creating()


def test_a_dry_run_changes_nothing(server, cluster):  # K14, A27
    with connect_writer(cluster) as writer:
        for step in steps(server):
            before = writer.read(step.change.target)
            mark = server.audit_mark()
            assert writer.dry_run(step.change, ObjectVersion.of(before), own=OWN).done
            assert writer.read(step.change.target) == before
            (asked,) = [one for one in server.audit_events(mark) if one["verb"] in ("create", "patch", "delete")]
            in_body = (asked.get("requestObject") or {}).get("dryRun") == ["All"]
            in_query = "dryRun=All" in asked["requestURI"]
            # The server ignores the query of a DELETE that has a body: there it has to stand inside.
            assert (in_body, in_query) == ((True, False) if asked["verb"] == "delete" else (False, True))


def test_the_same_requests_without_it_take_effect(server, cluster):  # K14: what the test above would see
    with connect_writer(cluster) as writer:
        for step in steps(server):
            before = writer.read(step.change.target)
            purpose = "action=test step=s001 attempt=1"
            assert writer.send(step.change, ObjectVersion.of(before), own=OWN, purpose=purpose).done
            assert writer.read(step.change.target) != before
