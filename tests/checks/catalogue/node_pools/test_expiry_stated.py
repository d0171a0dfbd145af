import pytest

from tests.builders.clusters import asked_hops, remedies
from tests.builders.pools import GONE, a_pool, answer, at, found, parses, row, unseen_is_unknown

CHECK = "expiry_stated"
BETA, V1 = "spec.disruption.expireAfter", "spec.template.spec.expireAfter"
VERSIONS = [("1.0", "0.37.8", "v1beta1", BETA), ("1.1+", "1.0.14", "v1", V1)]


@pytest.mark.parametrize(("hop", "release", "version", "path"), VERSIONS)
@pytest.mark.parametrize("text", ["720h", "Never"])
def test_it_is_stated(hop, release, version, path, text):
    cluster = at(release, a_pool({path: text}, version=version))
    assert answer(CHECK, hop, cluster) == ("pass", "Every NodePool sets its expiry")


@pytest.mark.parametrize(("hop", "release", "version", "path"), VERSIONS)
@pytest.mark.parametrize("nothing", [GONE, None])
def test_it_is_not(hop, release, version, path, nothing):
    cause = row("NodePool", "web", path, seen="absent, which means 720h", wanted="a duration, or Never")
    assert found(CHECK, hop, at(release, a_pool({path: nothing}, version=version))) == ("fail", (cause,))


@pytest.mark.parametrize(("hop", "release", "version", "path"), VERSIONS)
def test_odd_values_are_unknown_by_their_field(hop, release, version, path):
    told = ("unknown", f"NodePool web: {path} is not a text")
    assert answer(CHECK, hop, at(release, a_pool({path: 720}, version=version))) == told


def test_without_pools_it_does_not_arise():
    assert answer(CHECK, "1.0", at("0.37.8"))[0] == "not_applicable"
    assert asked_hops(CHECK) == ("1.0", "1.1+")


def test_unseen():
    unseen_is_unknown(CHECK, "1.1+", version="1.0.14")


def test_the_remedy():
    given = remedies(CHECK, "1.1+", at("1.0.14", a_pool({V1: GONE})))
    assert parses(given) == ["kubectl"]
    edit = f"kubectl edit nodepools.karpenter.sh web  # {V1}; a duration, or Never"
    assert given[0].text.splitlines() == ["# A change of the template's expireAfter drifts nodes", edit]
