"""The release that a plan is about is one hop away, or the running one."""

import pytest

from migrations_app.actions.targets.crds import planned_release
from migrations_app.errors import InvalidInput
from migrations_app.karpenter.releases import as_tag
from migrations_app.karpenter.versions import release
from migrations_app.readiness import stage
from tests.builders.clusters import a_cluster


def landed(running: str, wanted: str = "", *, kubernetes: str = "1.28") -> str:
    inventory = a_cluster(running, kubernetes=kubernetes).build()
    return str(planned_release(inventory, stage.detect_running_release(inventory), wanted=wanted))


def refused(*given: str) -> str:
    with pytest.raises(InvalidInput) as caught:
        landed(*given)
    return caught.value.code


def test_the_next_hop_says_where_to_land():
    assert landed("0.31.4") == "0.32.10"


def test_another_patch_of_that_hop_and_the_running_release_may_be_named():
    assert (landed("0.31.4", "0.32.9"), landed("0.37.8", "0.37.8"), landed("0.37.8", "v0.37.8")) == (
        "0.32.9", "0.37.8", "0.37.8",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("wanted", "code"),
    [("1.4.0", "not_next"), ("0.31.4", "target_below_current"), ("9.9.9", "unknown_target"), ("x", "unknown_target")],
)
def test_what_is_not_one_hop_away_is_refused(wanted, code):
    assert refused("0.37.8", wanted) == code


def test_charts_before_0_35_spell_their_version_with_a_v():
    assert (as_tag(release("0.32.10")), as_tag(release("1.0.14"))) == ("v0.32.10", "1.0.14")
