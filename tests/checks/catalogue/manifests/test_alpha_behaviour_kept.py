import pytest

from tests.builders.clusters import asked_hops, remedies
from tests.builders.pools import GONE, a_provisioner, a_template, answer, at, found, parses, row, unseen_is_unknown

CHECK = "alpha_behaviour_kept"
VERSION = "0.32.10"
RUNTIME = {"spec.kubeletConfiguration": {"containerRuntime": "dockerd"}}


def alpha(provisioner=None, template=None):
    return at(VERSION, a_provisioner(provisioner), a_template(template))


def test_nothing_changes():
    assert answer(CHECK, "0.33+", alpha()) == ("pass", "Every alpha setting keeps its meaning in v1beta1")


def test_dockerd_goes():
    cause = row(
        "Provisioner",
        "web",
        "spec.kubeletConfiguration.containerRuntime",
        seen="nodes change from dockerd to containerd",
        wanted="The new API has no containerRuntime; nodes run containerd.",
    )
    assert found(CHECK, "0.33+", alpha(RUNTIME)) == ("fail", (cause,))


def test_containerd_is_what_there_is():
    runtime = {"spec.kubeletConfiguration": {"containerRuntime": "containerd"}}
    assert answer(CHECK, "0.33+", alpha(runtime))[0] == "pass"


@pytest.mark.parametrize(
    ("provisioner", "path"),
    [
        ({"spec.consolidation": GONE}, "spec.consolidation"),
        ({"spec.consolidation": {"enabled": False}}, "spec.consolidation"),
        ({"spec.ttlSecondsAfterEmpty": 30}, "spec.ttlSecondsAfterEmpty"),
        ({"spec.ownField": 1}, "spec.ownField"),
        ({"spec.labels": {"karpenter.sh/provisioner-name": "web"}}, "spec.labels[karpenter.sh/provisioner-name]"),
    ],
)
def test_settings_of_a_provisioner(provisioner, path):
    status, causes = found(CHECK, "0.33+", alpha(provisioner))
    assert (status, [(one.kind, one.name, one.path) for one in causes]) == ("fail", [("Provisioner", "web", path)])


@pytest.mark.parametrize(
    ("template", "path"),
    [
        ({"spec.amiSelector": {"team": "images"}}, "spec.amiSelector"),
        ({"spec.amiSelector": {"aws-ids": "ami-0aaa"}}, "spec.amiSelector"),
        ({"spec.metadataOptions": {"httpTokens": "required"}}, "spec.metadataOptions"),
        ({"spec.amiFamily": GONE}, "spec.amiFamily"),
        ({"spec.amiFamily": ""}, "spec.amiFamily"),
    ],
)
def test_settings_of_a_template(template, path):
    status, causes = found(CHECK, "0.33+", alpha(None, template))
    assert status in ("fail", "unknown")
    assert [(one.kind, one.name, one.path) for one in causes] == [("AWSNodeTemplate", "default", path)]


@pytest.mark.parametrize("odd", ["yes", ["x"]])
def test_odd_values_are_unknown_by_their_field(odd):
    status, summary = answer(CHECK, "0.33+", alpha({"spec.consolidation": odd}))
    assert (status, summary.startswith("Provisioner web: spec.consolidation")) == ("unknown", True)


def test_without_alpha_objects_it_does_not_arise():
    assert answer(CHECK, "0.33+", at(VERSION)) == ("not_applicable", "there is no Provisioner and no AWSNodeTemplate")
    assert asked_hops(CHECK) == ("0.32", "0.33+")


def test_unseen():
    unseen_is_unknown(CHECK, "0.33+", version=VERSION)


def test_the_remedy_prints_the_successors():
    given = remedies(CHECK, "0.33+", alpha(RUNTIME))
    assert parses(given) == ["kubectl"]
    get = "kubectl get provisioners.karpenter.sh web -o yaml | karpdash convert -f -"
    assert given[0].text.splitlines()[1:] == [get]
