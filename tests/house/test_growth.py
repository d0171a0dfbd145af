"""No input costs more than its size: values, releases, policies, queries, kubeconfigs, bundles, redaction (T04, T29).

Conversion and the readers of YAML and JSON have theirs in tests/conversion and tests/manifests.
"""

import json
from collections.abc import Callable

import msgspec
import pytest
import yaml

from migrations_app.checks.changes import ChangeTarget, ObjectLabels
from migrations_app.clients.bundle.bundle import open_bundle
from migrations_app.clients.bundle.redaction import redacted_object
from migrations_app.clients.helm.releases import declared
from migrations_app.clients.helm.values import kept_values
from migrations_app.clients.kubernetes.kubeconfig import read_kubeconfig
from migrations_app.errors import InvalidInput
from migrations_app.iam.patterns import action_matches
from migrations_app.iam.policy import parse_policy
from migrations_app.iam.requirements.gaps import find_gaps
from migrations_app.iam.site import AwsSite
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.metric_queries import dashboards_collector, rules_collector
from migrations_app.readiness.runbook.effects.effect import effect_of_all
from migrations_app.redaction import redacted_tree
from migrations_app.samples import karpenter_objects
from tests.builders.clusters import a_cluster
from tests.builders.newest import NEWEST_MINOR
from tests.clients.bundle.objects import as_json, listed, pod, pool
from tests.clients.kubernetes.kubeconfigs import kubeconfig
from tests.house.growth import assert_linear
from tests.inventory.test_metric_queries import board, rule

Work = Callable[[], object]
SITE = AwsSite(cluster="blue", account="111122223333", region="eu-west-1")


def a_map_of_values(size: int) -> Work:
    tree = {"settings": {f"k{number}": f"value {number}" for number in range(size)}}
    return lambda: kept_values(tree)


def a_list_of_variables(size: int) -> Work:
    tree = {"controller": {"env": [{"name": f"N{number}", "value": "x"} for number in range(size)]}}
    return lambda: kept_values(tree)


def values_with_secrets(size: int) -> Work:
    tree = {"settings": {"clusterName": "password=hunter2x " * size}, "args": ["--token abcdefgh1"] * size}
    return lambda: redacted_tree(tree)


def a_release_of_many_crds(size: int) -> Work:
    one = "---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: c{}.k.sh\n"
    text = "".join(one.format(number) for number in range(size))
    return lambda: declared(text)


def policy_text(size: int, **statement: object) -> str:
    one = {"Effect": "Allow", "Action": "ec2:Describe*", "Resource": "*"}
    return json.dumps({"Version": "2012-10-17", "Statement": [one | statement for _ in range(size)]})


def many_statements(size: int) -> Work:
    text = policy_text(size)
    return lambda: parse_policy(text)


def many_actions(size: int) -> Work:
    text = policy_text(1, Action=[f"ec2:Describe{number}" for number in range(size)])
    return lambda: parse_policy(text)


def many_conditions(size: int) -> Work:
    text = policy_text(1, Condition={"StringEquals": {f"aws:RequestTag/{number}": ["x"] for number in range(size)}})
    return lambda: parse_policy(text)


def statements_judged(size: int) -> Work:
    policy = parse_policy(policy_text(size, Condition={"StringLike": {"aws:RequestTag/x": ["*a*b*", "c"]}}))
    return lambda: find_gaps([policy], release=NEWEST_MINOR, site=SITE)


def stars_in_actions_judged(size: int) -> Work:
    policy = parse_policy(policy_text(1, Action=[f"ec2:*{'a*' * 10}{number}" for number in range(size)]))

    def judged() -> object:
        action_matches.cache_clear()  # what the size before has asked
        return find_gaps([policy], release=NEWEST_MINOR, site=SITE)

    return judged


def rules_of_prometheus(size: int) -> Work:
    rules = [{"alert": f"a{number}", "expr": "sum(karpenter_nodes_created) > 1"} for number in range(size)]
    raw = msgspec.Raw(json.dumps(rule({"name": "g", "rules": rules})).encode())
    return lambda: rules_collector().add([raw])


def one_long_query(size: int) -> Work:
    raw = msgspec.Raw(
        json.dumps(rule({"name": "g", "rules": [{"expr": "karpenter_nodes_created + " * size}]})).encode()
    )
    return lambda: rules_collector().add([raw])


def panels_of_dashboards(size: int) -> Work:
    panels = [{"panels": [{"targets": [{"expr": "karpenter_nodes_created"}]}]} for _ in range(size)]
    raw = msgspec.Raw(json.dumps(board(**{"a.json": {"panels": panels}})).encode())
    return lambda: dashboards_collector().add([raw])


def users_of_a_kubeconfig(size: int) -> Work:
    more = [{"name": f"u{number}", "user": {"token": "x"}} for number in range(size)]
    raw = yaml.safe_dump(kubeconfig(users=[*kubeconfig()["users"], *more])).encode()
    return lambda: read_kubeconfig(raw)


def objects_of_a_bundle(size: int) -> Work:
    raw = as_json(listed(*(pod(f"p{number}") for number in range(size)), pool()))
    return lambda: open_bundle(raw)


def fields_of_an_object(size: int) -> Work:
    spec = {f"f{number}": [{"a": "b"}, f"password={number}secret"] for number in range(size)}
    raw = msgspec.Raw(as_json(pool() | {"spec": spec}))
    return lambda: redacted_object(raw, group="karpenter.sh", plural="nodepools")


def fixes_of_many_objects(size: int) -> Work:
    names = [f"p-{number}" for number in range(size)]
    pools = [karpenter_objects.pool(name, karpenter_objects.ON_DEMAND, node_class="c", version="v1") for name in names]
    before = a_cluster("1.0.14").with_docs(*pools).build()
    fixes = [ObjectLabels(what="", target=ChangeTarget("NodePool", name), given={"team": "a"}) for name in names]

    def fixed() -> None:
        after = effect_of_all(before, fixes)
        assert isinstance(after, Inventory)
        assert {pool.metadata.labels["team"] for pool in after.nodepools.items} == {"a"}

    return fixed


INPUTS = [
    *(a_map_of_values, a_list_of_variables, values_with_secrets, a_release_of_many_crds),
    *(many_statements, many_actions, many_conditions, statements_judged, stars_in_actions_judged),
    *(rules_of_prometheus, one_long_query, panels_of_dashboards),
    *(users_of_a_kubeconfig, objects_of_a_bundle, fields_of_an_object),
    fixes_of_many_objects,
]


@pytest.mark.parametrize("work", INPUTS, ids=lambda work: work.__name__)
def test_twice_the_input_is_at_most_a_little_more_than_twice_the_work(work):
    assert_linear(work, sizes=(40, 80, 160))


def test_more_than_that_would_be_seen():  # the positive control
    def squared(size: int) -> Work:
        return lambda: [number for number in range(size) for _ in range(size) if redacted_tree("x")]

    with pytest.raises(AssertionError, match=r"^\(\d+, \d+, \d+\)"):
        assert_linear(squared, sizes=(40, 80, 160))


@pytest.mark.parametrize("wrapped", ["[", '{"a":', '{"Fn::Sub":', '{"PolicyDocument":', '{"Fn::Join": ["", ['])
def test_what_is_nested_for_ever_is_refused_as_any_wrong_policy(wrapped):
    for depth in (50, 5_000, 50_000):
        with pytest.raises(InvalidInput):
            parse_policy(wrapped * depth)
