"""The comparison with the API server's audit log: no complaint about what is right, one about each error."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.use_cases.rollouts.audit_log_reader import Line, Seen, complaints, requests

NOW = datetime(2026, 11, 21, tzinfo=UTC)
BEFORE, AFTER = NOW - timedelta(seconds=1), NOW + timedelta(seconds=1)


def seen(step="s001", attempt=1, code=200, audit_id="a", at=NOW):
    return Seen(step=step, attempt=attempt, verb="patch", code=code, audit_id=audit_id, at=at)


def line(step="s001", number=1, outcome="applied", audit_id="a", recorded_at=BEFORE):
    return Line(step=step, number=number, verb="patch", outcome=outcome, audit_id=audit_id, recorded_at=recorded_at)


def event(agent="karpdash/1 action=r1 step=s001 attempt=2", **more):
    whole = {
        "verb": "patch", "userAgent": agent, "auditID": "a", "responseStatus": {"code": 409},
        "requestReceivedTimestamp": "2026-11-21T00:00:00.000000Z", "requestURI": "/api/v1/nodes/a",
    }  # fmt: skip
    return whole | more


def test_what_is_right_is_not_complained_about():
    assert complaints([seen()], [line()]) == []
    refused = line(outcome="refused", audit_id="b")
    assert complaints([seen(code=409, audit_id="b"), seen(attempt=2)], [refused, line(number=2)]) == []


@pytest.mark.parametrize(
    ("requests_seen", "lines", "said"),
    [
        ([seen(), seen(attempt=2)], [line(), line(number=2)], "s001 took effect 2 times"),
        ([seen()], [line(outcome="refused")], "s001 took effect and the journal does not know"),
        ([], [line()], "s001 is said to be applied and never was"),
        ([seen(), seen(attempt=2, code=409)], [line()], "s001 attempt 2 has no intent"),
        ([seen()], [line(recorded_at=None)], "s001 attempt 1 has no intent"),
        ([seen()], [line(recorded_at=AFTER)], "s001 attempt 1 was sent before its intent was recorded"),
        ([seen()], [line(audit_id="other")], "s001 attempt 1 names another request"),
    ],
)  # fmt: skip
def test_each_thing_that_is_wrong_is_said(requests_seen, lines, said):
    assert complaints(requests_seen, lines) == [said]


def test_requests_are_ours_of_that_rollout_and_change_something():  # K16
    events = [
        event(),
        event(agent="karpdash/1 action=r2 step=s001 attempt=2"),
        event(agent="karpdash-simulator"),
        event(verb="get"),
        event(requestURI="/api/v1/nodes/a?dryRun=All"),
        event(verb="delete", requestObject={"dryRun": ["All"]}),
        event(objectRef={"resource": "selfsubjectaccessreviews"}),
        event(verb="delete", agent="karpdash/1 dry-run delete"),
    ]
    assert requests(events, of="r1") == [seen(attempt=2, code=409)]


@pytest.mark.parametrize(
    "found",
    [
        event(agent="karpdash/1 scan attempt=1"),
        event(verb="delete", agent="karpdash/1 dry-run delete", requestObject={"kind": "DeleteOptions"}),
    ],
)
def test_a_change_without_a_purpose_is_found(found):  # K14, K16
    with pytest.raises(AssertionError, match="without a purpose"):
        requests([found], of="r1")
