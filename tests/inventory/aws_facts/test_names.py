"""What a cluster's own objects name in AWS."""

import msgspec
import pytest

from migrations_app.inventory.aws_facts import names
from migrations_app.inventory.aws_facts.names import MAX_NAMES, NameWithSources, ServiceAccountRef
from migrations_app.inventory.objects.aws import NamedBy
from migrations_app.inventory.objects.karpenter import HelmRelease, Workload
from migrations_app.inventory.parts import Seen, UnparsableObject, Unseen
from tests.fakes.aws_inventory import an_inventory, controller, node_class, node_template, service_account, settings

QUEUE = "aws.interruptionQueueName"
NOT_READ = Unseen("forbidden", "no")


def named_by(kind, name, path):
    return NamedBy(kind=kind, name=name, path=path)


def helm(**config):
    body = {
        "name": "karpenter", "namespace": "kube-system", "revision": 1, "status": "deployed", "chart": "karpenter",
        "chart_version": "0.31.4", "app_version": "0.31.4", "config": config, "defaults": {}, "crds": [],
    }  # fmt: skip
    return HelmRelease(**body)


def test_accounts_with_and_without_a_role():
    role = "arn:aws:iam::111122223333:role/karpenter"
    annotated = an_inventory(controller_accounts=(service_account(role),))
    assert names.controller_accounts(annotated) == Seen((ServiceAccountRef("kube-system", "karpenter", role),))
    assert names.controller_accounts(an_inventory()) == Seen((ServiceAccountRef("kube-system", "karpenter", ""),))


@pytest.mark.parametrize("part", ["controller", "controller_accounts"])
def test_accounts_are_unseen_with_what_tells_of_them(part):
    assert names.controller_accounts(an_inventory(**{part: NOT_READ})) == NOT_READ


def test_node_roles_by_all_classes_that_name_them():
    classes = (node_class("a", role="nodes"), node_class("b", role="nodes"), node_class("c", instanceProfile="p"))
    by = tuple(named_by("EC2NodeClass", name, "spec.role") for name in ("a", "b"))
    assert names.node_roles(an_inventory(ec2nodeclasses=classes)) == Seen((NameWithSources("nodes", by),))


@pytest.mark.parametrize("role", ["${NODE_ROLE}", "arn:aws:iam::111122223333:role/x", "$KARPENTER_NODE_ROLE", "a b"])
def test_a_left_over_placeholder_is_set_aside(role):
    found = names.node_roles(an_inventory(ec2nodeclasses=(node_class(role=role),)))
    bad = UnparsableObject("EC2NodeClass", "", "default", "$.spec.role", "not a name that IAM could hold")
    assert found == Seen((), None, (bad,))


def test_names_beyond_the_limit_are_set_aside():
    classes = tuple(node_class(f"c{n}", role=f"r{n}") for n in range(MAX_NAMES + 1))
    found = names.node_roles(an_inventory(ec2nodeclasses=classes))
    assert (len(found.items), [bad.name for bad in found.quarantined]) == (MAX_NAMES, [f"c{MAX_NAMES}"])


def test_profiles_of_classes_templates_and_the_default():
    inventory = an_inventory(
        ec2nodeclasses=(node_class("a", instanceProfile="both"),),
        awsnodetemplates=(node_template("t", instanceProfile="both"),),
        settings=(settings(aws__defaultInstanceProfile="default-profile"),),
    )
    path = "spec.instanceProfile"
    both = (named_by("EC2NodeClass", "a", path), named_by("AWSNodeTemplate", "t", path))
    default = (named_by("ConfigMap", "karpenter-global-settings", "data[aws.defaultInstanceProfile]"),)
    assert names.instance_profiles(inventory) == Seen(
        (NameWithSources("both", both), NameWithSources("default-profile", default))
    )


@pytest.mark.parametrize("part", ["ec2nodeclasses", "awsnodetemplates", "settings"])
def test_profiles_are_unseen_when_one_place_was_not_read(part):
    assert names.instance_profiles(an_inventory(**{part: NOT_READ})) == NOT_READ


@pytest.mark.parametrize(
    ("parts", "found"),
    [
        ({"controller": (controller(INTERRUPTION_QUEUE="q"),), "settings": NOT_READ}, Seen(("q",))),
        ({"settings": (settings(aws__interruptionQueueName="old"),)}, Seen(("old",))),
        ({"helm_releases": (helm(settings={"aws": {"interruptionQueueName": "h"}}),)}, Seen(("h",))),
        ({"helm_releases": (helm(settings={"interruptionQueue": "h2"}),)}, Seen(("h2",))),
        (
            {
                "controller": (controller(CLUSTER_NAME="c"),),
                "helm_releases": (helm(settings={"interruptionQueue": "x"}),),
            },
            Seen(()),
        ),
        ({}, Seen(())),
        ({"controller": ()}, Seen(())),
        ({"controller": NOT_READ}, NOT_READ),
        ({"settings": NOT_READ}, NOT_READ),
    ],
)
def test_the_queue_is_told_by_environment_config_map_or_values(parts, found):
    assert names.setting(an_inventory(**parts), QUEUE) == found


def test_a_variable_taken_from_elsewhere_is_unseen():
    body = msgspec.to_builtins(controller(INTERRUPTION_QUEUE="q"))
    body["spec"]["template"]["spec"]["containers"][0]["env"] = [{"name": "INTERRUPTION_QUEUE", "valueFrom": {}}]
    found = names.setting(an_inventory(controller=(msgspec.convert(body, Workload),)), QUEUE)
    told = "INTERRUPTION_QUEUE of the controller is taken from an object that is not read"
    assert found == Unseen("not_asked", told)


@pytest.mark.parametrize("value", [{}, {"value": ""}])
def test_a_variable_that_is_set_to_nothing_is_no_setting(value):
    body = msgspec.to_builtins(controller(INTERRUPTION_QUEUE="q"))
    body["spec"]["template"]["spec"]["containers"][0]["env"] = [{"name": "INTERRUPTION_QUEUE"} | value]
    found = names.setting(an_inventory(controller=(msgspec.convert(body, Workload),)), QUEUE)
    assert found == Seen(())


def test_credentials_of_the_controllers_own():
    given = controller(AWS_ROLE_ARN="r", AWS_ACCESS_KEY_ID="k", OTHER="o")
    found = dict(names.own_credentials(an_inventory(controller=(given,))))
    assert found == {"AWS_ACCESS_KEY_ID": "k", "AWS_ROLE_ARN": "r"}
    assert list(names.own_credentials(an_inventory(controller=()))) == []


def test_only_tags_that_all_classes_agree_on():
    classes = (node_class("a", tags={"team": "x", "env": "p"}), node_class("b", tags={"team": "x", "env": "q"}))
    assert names.class_tags(an_inventory(ec2nodeclasses=classes)) == {"team": "x"}
    assert names.class_tags(an_inventory(ec2nodeclasses=(*classes, node_class("c")))) == {}
    assert names.class_tags(an_inventory()) == {}
