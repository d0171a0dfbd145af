import pytest

from tests.builders import a_cluster, ask, blind, reads
from tests.builders_pools import parses

CHECK = "unread_kinds_current"


def test_the_old_label_is_to_be_searched_for_before_it_is_gone():
    found = ask(CHECK, "0.33+", a_cluster("0.32.10", kubernetes="1.28"))
    assert (found.status, found.severity, found.evidence) == ("manual", "info", ())
    assert found.summary == (
        "not read; search for: karpenter.sh/provisioner-name in policies of Kyverno and Gatekeeper, "
        "PersistentVolumes, Rollouts (now karpenter.sh/nodepool)"
    )


def test_the_old_annotations_before_they_protect_nothing():
    found = ask(CHECK, "1.0", a_cluster("0.37.8"))
    assert (found.status, found.severity, found.evidence) == ("manual", "info", ())
    assert found.summary == (
        "not read; search for: karpenter.sh/do-not-evict, karpenter.sh/do-not-consolidate in policies of Kyverno and "
        "Gatekeeper, Rollouts (now karpenter.sh/do-not-disrupt)"
    )


def test_the_search_goes_through_each_kind():
    (given,) = ask(CHECK, "1.0", a_cluster("0.37.8")).remedies
    assert parses([given]) == ["kubectl"]
    words = "karpenter\\.sh/do-not-evict|karpenter\\.sh/do-not-consolidate"
    assert f"kubectl get clusterpolicies.kyverno.io -A -o yaml | grep -nE '{words}'" in given.text.splitlines()
    assert f"kubectl get persistentvolumes -A -o yaml | grep -nE '{words}'" in given.text.splitlines()


def test_where_nothing_changes_there_is_nothing_to_ask():
    found = ask(CHECK, "1.1+", a_cluster("1.0.14"))
    assert (found.status, found.remedies) == ("not_applicable", ())


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert blind(CHECK, "1.0", a_cluster("0.37.8"), part=part) == ("unknown", f"{part} could not be read: forbidden")
