"""What a plan adds to the controller's roles: each statement once, within the quotas, however policies were learnt."""

import json
from collections import Counter
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace as with_fields

from migrations_app.checks.changes import Change, IamStatements, leaves
from migrations_app.checks.shared.iam_room import placed_policies
from migrations_app.clients.bundle.bundle import open_bundle
from migrations_app.collect.aws import add_aws, with_policies
from migrations_app.collect.collect import collect
from migrations_app.iam.requirements.remedies import INLINE_LIMIT, MANAGED_LIMIT
from migrations_app.inventory.aws_facts.permissions import MAX_ATTACHED
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects.cluster_arn import AwsPlace
from migrations_app.inventory.parts import Seen
from migrations_app.karpenter import labels
from migrations_app.readiness.evaluate import evaluate
from migrations_app.readiness.report import CollectResult, Report
from migrations_app.readiness.runbook.effects.iam import with_policy
from migrations_app.readiness.runbook.hop_work import changes_of
from migrations_app.readiness.runbook.runbook import runbook
from migrations_app.samples.aws_account import ACCOUNT
from migrations_app.samples.fleet import aws, files, find, stories
from tests.acceptance.judged_faults import ONE_WORKER
from tests.builders.clusters import case_at
from tests.builders.iam import a_role, document, managed, permitted, policy_for

pytestmark = ONE_WORKER

NAMES = tuple(one.name for one in stories() if one.aws)
WAYS = ("bundle", "no role", "no account", "aws")
"""How the policies were learnt: from the bundle, whose service account names the role or does not, with the account
known or not, and from AWS."""


@cache
def learnt(name: str, way: str) -> CollectResult:
    story = find(name)
    assert story is not None
    bundle = open_bundle(dict(files(story)))
    seen = collect(bundle, cluster=name)
    if way == "aws":
        return add_aws(seen, aws(story))
    return with_policies(seen if way == "bundle" else _without_role(seen, way), bundle.iam_documents())


def _without_role(seen: CollectResult, way: str) -> CollectResult:
    here = seen.inventory
    accounts = tuple(_bare(one) for one in here.controller_accounts.items)
    place = AwsPlace(region="", cluster="", account=ACCOUNT if way == "no role" else "")
    after = replace(here, controller_accounts=Seen(accounts, "v1"), aws=replace(here.aws, place=place))
    return replace(seen, inventory=after)


def _bare(account: Any) -> Any:
    left = {key: value for key, value in (account.metadata.annotations or {}).items() if key != labels.ROLE_ARN}
    return with_fields(account, metadata=with_fields(account.metadata, annotations=left))


@cache
def report(name: str, way: str) -> Report:
    return evaluate(learnt(name, way)).report


def added(found: Report, hop: str) -> list[IamStatements]:
    """The policies that the hop adds, each once."""
    changes: list[Change] = [one for finding in found.checks if finding.hop == hop for one in changes_of(finding)]
    steps = [step for change in changes for step in leaves(change) if isinstance(step, IamStatements)]
    return list(dict.fromkeys(step for step in steps if not step.removed))


def listed(value: Any) -> set[str]:
    return {value} if isinstance(value, str) else set(value)


def covers(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether a statement grants all that the other one does, under the same conditions."""
    return one.get("Condition") == other.get("Condition") and all(
        listed(other[key]) <= listed(one[key]) for key in ("Action", "Resource")
    )


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", NAMES)
def test_no_statement_is_added_that_another_one_of_the_plan_covers(name: str, way: str) -> None:
    found, before = report(name, way), list[dict[str, Any]]()
    for hop in found.target.path:
        for policy in added(found, hop.name):
            for statement in policy.statements:
                assert [one["Sid"] for one in before if covers(one, statement)] == []
                before.append(statement)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", NAMES)
def test_every_name_is_given_once_and_every_role_keeps_its_quotas(name: str, way: str) -> None:
    found, inventory = report(name, way), learnt(name, way).inventory
    policies = [one for hop in found.target.path for one in added(found, hop.name)]
    assert [name for name, count in Counter(one.policy for one in policies).items() if count > 1] == []
    for one in policies:
        after = with_policy(inventory, one)
        assert isinstance(after, Inventory)
        inventory = after
    for role in inventory.aws.controller_roles.items:
        attached = [one for one in role.policies.items if one.kind != "inline"]
        assert len(attached) <= MAX_ATTACHED
        assert role.inline_size <= INLINE_LIMIT
    assert all(len(json.dumps(one.statements, separators=(",", ":"))) <= MANAGED_LIMIT for one in policies)


@pytest.mark.parametrize("name", NAMES)
def test_however_policies_were_learnt_the_same_ones_are_added(name: str) -> None:
    """Node classes tell AWS which roles nodes have, which a bundle of an alpha cluster does not say."""
    found = [
        [(hop.name, one.policy, one.inline, one.statements) for hop in report(name, way).target.path
         for one in added(report(name, way), hop.name) if "instances" not in one.policy]
        for way in ("bundle", "no role", "aws")
    ]  # fmt: skip
    assert found[0] == found[1]
    assert [row[:2] for row in found[0]] == [row[:2] for row in found[2]]
    verdicts = [[(hop.hop, hop.verdict) for hop in report(name, way).hops] for way in ("bundle", "no role")]
    assert verdicts[0] == verdicts[1]


def test_some_plan_adds_policies_at_several_hops() -> None:
    for way in WAYS:
        found = report("alpha_030", way)
        assert len([hop for hop in found.target.path if added(found, hop.name)]) > 1


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", NAMES)
def test_a_runbook_prints_each_policy_once_in_a_hop(name: str, way: str) -> None:
    found = report(name, way)
    for hop in runbook(found).hops:
        texts = [each.text for one in hop.steps for each in one.remedies if each.how == "iam"]
        lines = [line for text in texts for line in text.splitlines()]
        for policy in added(found, hop.path_hop.name):
            made = f"--policy-name {policy.policy} " if policy.role else f"make the policy {policy.policy} of"
            assert len([line for line in lines if made in line]) == 1


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", NAMES)
def test_no_right_is_taken_from_the_role_while_the_old_release_runs(name: str, way: str) -> None:
    texts = [each.text for one in report(name, way).checks for each in one.remedies if each.how == "iam"]
    lines = [line for text in texts for line in text.splitlines() if line.startswith("aws iam ")]
    taken = {line.split()[2] for line in lines} & {"detach-role-policy", "delete-role-policy", "delete-policy"}
    assert taken == set()


TOLD = {"role of the nodes": ":role/", "account": ACCOUNT, "queue": ":sqs:"}
"""What stands in a document that holds such a name."""


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_asked_for_only_where_a_document_holds_it(name: str, way: str) -> None:
    for one in report(name, way).checks:
        for text in (each.text for each in one.remedies if each.how == "iam"):
            asked = [line for line in text.splitlines() if line.startswith("# nothing tells the ")]
            made = " ".join(line for line in text.splitlines() if '"Statement"' in line)
            for line in asked:
                what = line.removeprefix("# nothing tells the ").partition(":")[0]
                assert TOLD.get(what, "") in made


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", NAMES)
def test_what_may_go_is_said_once_in_a_plan(name: str, way: str) -> None:
    texts = [each.text for one in report(name, way).checks for each in one.remedies if each.how == "iam"]
    lines = [line for text in dict.fromkeys(texts) for line in text.splitlines() if line.endswith(": whole statement")]
    assert len(lines) == len(set(lines))


def test_what_may_go_is_said_where_a_release_stops_to_need_it() -> None:
    said = {
        one.hop
        for one in report("alpha_030", "aws").checks
        for each in one.remedies
        if "this may be removed" in each.text
    }
    assert said == {"0.33+", "1.0"}


@given(
    managed_policies=st.integers(0, 12),
    inside=st.lists(st.integers(200, 5000), max_size=4),
    release=st.sampled_from([("0.31.4", "0.32", "0.31"), ("0.37.8", "1.0", "0.37"), ("1.0.14", "1.1+", "0.37")]),
)
@settings(deadline=None, max_examples=30, suppress_health_check=[HealthCheck.too_slow])
def test_no_place_is_given_that_a_role_does_not_have(
    managed_policies: int, inside: list[int], release: tuple[str, str, str]
) -> None:
    version, hop, granted = release
    texts = [policy_for(granted), *(document() for _ in range(managed_policies))][:managed_policies]
    full = [managed(text, name=f"karpenter-test-{n}") for n, text in enumerate(texts)]
    own = [replace(managed(document(), name=f"own-{n}", kind="inline"), size=size) for n, size in enumerate(inside)]
    cluster = permitted(version, a_role(*full, *own))
    placed = [one for part in placed_policies(case_at(hop, cluster)).values() for one in part]
    more = [one for one in placed if one.place == "managed"]
    inline = [one for one in placed if one.place == "inline"]
    assert not more or len(full) + len(more) <= MAX_ATTACHED
    assert not inline or sum(one.size for one in inline) + sum(inside) <= INLINE_LIMIT
    room = INLINE_LIMIT - sum(inside) - sum(one.size for one in inline)
    homeless = [one for one in placed if one.place == "none"]
    assert not homeless or (len(full) + len(more) >= MAX_ATTACHED and all(one.size > room for one in homeless))
