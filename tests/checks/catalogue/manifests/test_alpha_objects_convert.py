import pytest

from tests.builders.clusters import asked_hops, finding_of, remedies
from tests.builders.pools import GONE, a_provisioner, a_template, answer, at, found, parses, row, unseen_is_unknown

CHECK = "alpha_objects_convert"
VERSION = "0.32.10"
GOOD = ("pass", "Every Provisioner and AWSNodeTemplate can be converted")


def alpha(provisioner=None, template=None):
    return at(VERSION, a_provisioner(provisioner), a_template(template))


def test_both_can_be_converted():
    assert answer(CHECK, "0.33+", alpha()) == GOOD


@pytest.mark.parametrize("field", ["launchTemplate", "launchTemplateName"])
def test_a_launch_template_has_no_counterpart(field):
    status, (cause,) = found(CHECK, "0.33+", alpha(None, {f"spec.{field}": "own"}))
    assert (status, cause.kind, cause.name, cause.path) == ("fail", "AWSNodeTemplate", "default", f"spec.{field}")
    assert cause.seen.startswith(f'spec.{field} "own" has no counterpart')


def test_a_launch_template_in_an_inline_provider():
    changes = {"spec.provider": {"launchTemplate": "own"}, "spec.providerRef": GONE}
    status, (first, *_) = found(CHECK, "0.33+", alpha(changes))
    assert (status, first.kind, first.path) == ("fail", "Provisioner", "spec.provider.launchTemplate")


def test_a_selector_that_the_converter_settles_does_not_block():
    """An id had no effect on the filters beside it: alpha_behaviour_kept tells of it."""
    selector = {"aws-ids": "subnet-1,subnet-2", "team": "a"}
    assert answer(CHECK, "0.33+", alpha(None, {"spec.subnetSelector": selector})) == GOOD
    told = found("alpha_behaviour_kept", "0.33+", alpha(None, {"spec.subnetSelector": selector}))
    cause = row(
        "AWSNodeTemplate",
        "default",
        "spec.subnetSelector",
        seen="team beside aws-ids had no effect in 0.32 and is left out",
        wanted="An id excludes every other filter of its term.",
    )
    assert (told[0], cause in told[1]) == ("fail", True)


def test_no_node_class_at_all():
    status, (cause,) = found(CHECK, "0.33+", alpha({"spec.providerRef": GONE}))
    assert (status, cause.path) == ("fail", "spec.providerRef")


@pytest.mark.parametrize("size", ["50", "500Mi"])
def test_a_volume_of_a_size_that_is_refused(size):
    devices = [{"deviceName": "/dev/xvda", "ebs": {"volumeSize": size}}]
    status, (cause,) = found(CHECK, "0.33+", alpha(None, {"spec.blockDeviceMappings": devices}))
    assert (status, cause.path) == ("fail", "spec.blockDeviceMappings[0].ebs.volumeSize")


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"spec.requirements": {}}, "spec.requirements"),
        ({"spec.weight": "ten"}, "spec.weight"),
        ({"spec.ttlSecondsUntilExpired": "30d"}, "spec.ttlSecondsUntilExpired"),
        ({"spec.limits": {"resources": {"cpu": "many"}}}, "spec.limits.resources.cpu"),
    ],
)
def test_odd_values_are_unknown_by_their_field(changes, field):
    status, summary = answer(CHECK, "0.33+", alpha(changes))
    assert (status, summary.partition(": ")[0], field in summary) == ("unknown", "Provisioner web", True)


def test_without_alpha_objects_it_does_not_arise():
    assert answer(CHECK, "0.33+", at(VERSION)) == ("not_applicable", "there is no Provisioner and no AWSNodeTemplate")


def test_it_blocks_where_alpha_is_left():
    assert asked_hops(CHECK) == ("0.32", "0.33+")
    assert [finding_of(CHECK, "0.33+", alpha()).severity, finding_of(CHECK, "0.32", at("0.31.5")).severity] == [
        "blocker",
        "warning",
    ]


def test_unseen():
    unseen_is_unknown(CHECK, "0.33+", version=VERSION)


def test_the_remedy_shows_the_conversion_and_changes_nothing():
    given = remedies(CHECK, "0.33+", alpha(None, {"spec.launchTemplate": "own"}))
    assert parses(given) == ["kubectl"]
    get = "kubectl get awsnodetemplates.karpenter.k8s.aws default -o yaml | karpdash convert -f -"
    assert given[0].text.splitlines()[1:] == [get]
