"""What must hold for every path, whatever the start, the target and the cluster's Kubernetes."""

from itertools import pairwise

from hypothesis import assume, given
from hypothesis import strategies as st

from migrations_app.errors import InvalidInput
from migrations_app.karpenter import releases
from migrations_app.karpenter.releases import RELEASES
from migrations_app.karpenter.upgrade_path import HOPS, STOPS, Path, path
from migrations_app.karpenter.versions import Release, minor_order, parse, release

KNOWN = [patch for row in RELEASES for patch in row.releases]
GOOD = [patch for patch in KNOWN if not releases.bad_reasons(patch)]
KUBERNETES = st.none() | st.integers(min_value=20, max_value=40).map(lambda number: f"1.{number}")
TARGETS = st.none() | st.sampled_from(GOOD)
Place = tuple[Release, Release | None, str | None]
PLACES = st.tuples(st.sampled_from(KNOWN), TARGETS, KUBERNETES)


def walked(place: Place) -> Path:
    current, target, kubernetes = place
    assume(target is None or target >= current)
    return path(current, target=target, kubernetes=kubernetes)


@given(PLACES)
def test_it_strictly_increases_and_arrives(place: Place) -> None:
    found = walked(place)
    landed = [found.current, *(hop.release for hop in found.hops)]
    assert all(low < high for low, high in pairwise(landed))
    assert landed[-1] == found.target
    assert [hop.start for hop in found.hops] == landed[:-1]


@given(PLACES)
def test_it_lands_on_known_good_patches_only(place: Place) -> None:
    assert {hop.release for hop in walked(place).hops} <= set(GOOD)


@given(PLACES)
def test_it_skips_no_mandatory_stop(place: Place) -> None:
    found = walked(place)
    visited = [found.current, *(hop.release for hop in found.hops)]
    for stop in STOPS:
        if stop.strength == "mandatory" and stop.ahead_of(found.current) and beyond(found.target, stop.last):
            assert any(stop.spans(one) for one in visited)


def beyond(target: Release, minor: str) -> bool:
    return minor_order(target.minor) > minor_order(minor)


@given(PLACES)
def test_every_stop_is_left_from_a_patch_with_a_rollback(place: Place) -> None:
    for hop in walked(place).hops:
        row = releases.row_of(hop.start)
        if row.leave_from and stop_of(hop.start) != stop_of(hop.release):
            assert hop.start >= release(row.leave_from)


def stop_of(running: Release) -> str:
    return next((stop.hop for stop in STOPS if stop.spans(running)), "")


@given(PLACES)
def test_no_hop_is_named_twice_and_all_in_order(place: Place) -> None:
    hops = walked(place).hops
    assert len(set(hops)) == len(hops)
    own = [hop for hop in hops if hop in HOPS]
    assert own == [hop for hop in HOPS if hop in own]


@given(PLACES)
def test_kubernetes_is_judged_from_the_window_of_the_very_patch(
    place: Place,
) -> None:
    found = walked(place)
    minor = place[2]
    for hop in found.hops:
        assert hop.kubernetes == releases.kubernetes_window(hop.release)
        assert hop.kubernetes_fits == (None if minor is None else hop.kubernetes.holds(minor))
        assert bool(hop.kubernetes_change) == (hop.kubernetes_fits is False)
        minor = minor and max(minor, hop.kubernetes.min, key=minor_order)


@given(PLACES)
def test_ways_back_are_older_known_and_good(place: Place) -> None:
    for hop in walked(place).hops:
        assert all(back < hop.release and back in GOOD for back in hop.rollback_to)
        assert len(set(hop.rollback_to)) == len(hop.rollback_to)


@given(PLACES)
def test_what_is_skipped_and_landed_on_is_every_minor_between(
    place: Place,
) -> None:
    found = walked(place)
    entered = [minor for hop in found.hops for minor in hop.entered]
    between = releases.between(found.current.minor, found.target.minor)
    assert entered == [row.minor for row in between if row.minor != found.current.minor]


@given(PLACES)
def test_once_there_nothing_is_left(place: Place) -> None:
    found = walked(place)
    assert path(found.target, target=found.target, kubernetes=place[2]).hops == ()


@given(st.text(max_size=30) | st.from_regex(r"v?[0-9]{1,2}\.[0-9]{1,2}(\.[0-9]{1,2})?", fullmatch=True), TARGETS)
def test_any_text_is_answered_or_refused(current: str, target: Release | None) -> None:
    outcome = attempt(current, target)
    if isinstance(outcome, Path):
        assert outcome.current == parse(current)
    else:
        assert outcome in {"unknown_current", "target_below_current"}


def attempt(current: str, target: Release | None) -> Path | str:
    """The path, or the code with which it was refused."""
    try:
        return path(current, target=target)
    except InvalidInput as refused:
        return refused.code
