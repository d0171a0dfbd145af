"""The fleet by group, label and failing check: filtered, sorted, and at a constant number of queries."""

import uuid

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from migrations_app.access import EffectivePermissions
from migrations_app.models.policy import Waiver
from migrations_app.models.scan import Snapshot
from migrations_app.queries.fleet.causes import causes
from migrations_app.queries.fleet.clusters import GROUP, FleetFilters, fleet_ids, fleet_page
from migrations_app.queries.fleet.failing_clusters import BLOCKS
from migrations_app.queries.fleet.groups import group_choices, group_page, members_of
from migrations_app.queries.fleet.waivers import waivers_by_cluster
from migrations_app.queries.visibility import VisibilityScope, visibility_scope
from migrations_app.use_cases.clusters import groups as arrange
from migrations_app.use_cases.clusters import labels
from migrations_app.use_cases.scans import waivers
from tests.builders.rows import NOW, a_cluster, a_finding, a_report, a_snapshot
from tests.use_cases.people import ADMINISTER, person, user
from tests.use_cases.scans.waivers import a_wish

pytestmark = pytest.mark.django_db
CHECK = "legacy_provisioners_gone"


def names(**asked):
    return [row.name for row in fleet_page(FleetFilters(**asked), now=timezone.now()).rows]


def grouped(**members):
    """Groups by name, of clusters by name."""
    made = {}
    for group, clusters in members.items():
        made[group] = arrange.create_group(group)
        arrange.add_to_group(made[group], [one.pk for one in clusters])
    return made


@pytest.fixture
def three():
    return [a_cluster(name, environment="prod" if name == "a" else "") for name in "abc"]


def test_by_group_and_by_labels(three):
    a, b, c = three
    groups = grouped(left=[a, b], right=[b, c])
    labels.set_labels(b.pk, {"team": "shop", "tier": "1"})
    labels.set_labels(c.pk, {"team": "shop"})
    assert (names(group=groups["left"]), names(group=uuid.uuid4())) == (["a", "b"], [])
    assert (names(labels=("team:shop",)), names(labels=("team:shop", "tier:1"))) == (["b", "c"], ["b"])
    assert (names(labels=("team:",)), names(labels=("environment:prod",))) == (["a"], ["a"])
    assert names(group=groups["right"], labels=("tier:1",)) == ["b"]
    assert fleet_ids(FleetFilters(group=groups["left"]), now=NOW) == tuple(sorted((a.pk, b.pk)))


def test_a_cluster_stands_under_each_of_its_groups(three):
    a, b, _ = three
    groups = grouped(left=[a, b], right=[b])
    page = fleet_page(FleetFilters(by=GROUP), now=NOW)
    assert [(row.part, row.name) for row in page.rows] == [("", "c"), ("left", "a"), ("left", "b"), ("right", "b")]
    assert (page.parts, page.matching) == ({"": 1, "left": 2, "right": 1}, 3)
    assert [row.groups for row in page.rows] == [(), ("left",), ("left", "right"), ("left", "right")]
    narrowed = fleet_page(FleetFilters(by=GROUP, group=groups["left"]), now=NOW)
    assert [(row.part, row.name) for row in narrowed.rows] == [("left", "a"), ("left", "b")]


def test_arranged_by_a_label(three):
    labels.set_labels(three[1].pk, {"team": "shop"})
    page = fleet_page(FleetFilters(by="team"), now=NOW)
    assert [(row.part, row.name) for row in page.rows] == [("", "a"), ("", "c"), ("shop", "b")]
    assert fleet_page(FleetFilters(by="environment"), now=NOW).parts == {"": 2, "prod": 1}


@pytest.mark.parametrize("sort", ["name", "blockers", "scanned", "hop"])
@pytest.mark.parametrize("descending", [False, True])
def test_pages_by_group_lose_and_double_nothing(three, sort, descending):
    a, b, c = three
    grouped(left=[a, b, c], right=[b, c])
    ask = {"by": GROUP, "sort": sort, "descending": descending}
    whole = [(row.part, row.name) for row in fleet_page(FleetFilters(**ask), now=NOW).rows]
    walked, cursor = [], ""
    for _ in whole:
        page = fleet_page(FleetFilters(**ask, cursor=cursor), now=NOW, limit=1)
        walked += [(row.part, row.name) for row in page.rows]
        cursor = page.next_cursor
    assert (walked, cursor, len(whole)) == (whole, "", 5)


def judged(name, *, hop="0.32", severity="blocker", status="fail"):
    row = a_cluster(name)
    checks = (a_finding(CHECK, hop=hop, severity=severity, status=status), a_finding("crds_served", status="pass"))
    a_snapshot(row, a_report(name, checks=checks), next_hop="0.32")
    return row


def test_which_clusters_a_check_stands_in_the_way_of():
    judged("now"), judged("later", hop="1.0"), judged("passes", status="pass"), judged("dark", status="unknown")
    a_cluster("new")
    assert names(check=CHECK, flat=True) == ["later", "now"]
    assert names(check=CHECK, hop="next", flat=True) == ["now"]
    assert (names(check=CHECK, hop="1.0"), names(check="crds_served"), names(check="odd")) == (["later"], [], [])


@pytest.mark.parametrize("scope", ["cluster", "group", "all"])
def test_what_is_waived_stands_in_nobodys_way(scope):
    waived, other = judged("waived"), judged("other")
    groups = grouped(g=[waived])
    wish = {"cluster": {"cluster": waived}, "group": {"group": groups["g"]}, "all": {}}[scope]
    waivers.waive(a_wish(CHECK, **wish), person(user("gil", ADMINISTER)), now=timezone.now())
    assert names(check=CHECK) == ([] if scope == "all" else ["other"])
    assert other.name == "other"


@pytest.mark.parametrize(("hop", "left"), [("", ["other"]), ("0.32", ["other"]), ("1.0", ["accepted", "other"])])
@pytest.mark.parametrize("everywhere", [False, True])
def test_what_blocks_is_what_the_causes_count(hop, left, everywhere):
    accepted, _, _ = judged("accepted"), judged("other"), judged("warns", severity="warning")
    judged("later", hop="1.0"), judged("passes", status="pass"), a_cluster("new")
    waivers.waive(a_wish(CHECK, cluster=accepted), person(user("gil", ADMINISTER)), now=timezone.now())
    Waiver.objects.update(hop=hop, **({"cluster": None} if everywhere else {}))
    Snapshot.objects.update(verdict="blocked")  # the waiver had judged them anew
    expected = [name for name in left if hop == "1.0" or not everywhere]
    now = timezone.now()
    told = causes(FleetFilters(), held=waivers_by_cluster(now), now=now)
    assert [cluster.name for cause in told if cause.check == CHECK for cluster in cause.clusters] == expected
    assert names(check=CHECK, hop=BLOCKS, flat=True) == expected


def test_a_waiver_of_warnings_lets_what_blocks_stand():
    blocks, warns = judged("blocks"), judged("warns", severity="warning")
    waivers.waive(a_wish("budgets_let_nodes_go", warns), person(user("ann", "change_cluster")), now=timezone.now())
    Waiver.objects.update(check_id=CHECK, cluster=None)
    assert (names(check=CHECK), blocks.name) == (["blocks"], "blocks")


def test_who_sees_one_group_is_told_of_no_other(three):
    a, b, c = three
    groups = grouped(left=[a, b], right=[b, c])
    with visibility_scope(VisibilityScope(EffectivePermissions(by_group={groups["left"]: frozenset({"view"})}))):
        page = fleet_page(FleetFilters(by=GROUP), now=NOW)
        assert [(row.part, row.name, row.groups) for row in page.rows] == [("left", n, ("left",)) for n in "ab"]
        assert ([name for _, name in group_choices()], names(group=groups["right"])) == (["left"], [])
        assert [row.name for row in group_page().rows] == ["left"]
        assert ([one.name for one in members_of(groups["left"])], members_of(groups["right"])) == (["a", "b"], ())


@pytest.mark.parametrize("size", [1, 30])
@pytest.mark.parametrize(
    ("asked", "queries"),
    [({"by": GROUP}, 6), ({"by": "team"}, 6), ({"labels": ("team:shop", "region:x")}, 5), ({"check": CHECK}, 6)],
)
def test_the_number_of_queries_does_not_grow(size, asked, queries, django_assert_num_queries):
    clusters = [judged(f"c{number}") for number in range(size)]
    grouped(left=clusters, right=clusters)
    for one in clusters:
        labels.set_labels(one.pk, {"team": "shop", "region": "x"})
    with django_assert_num_queries(queries):
        assert len(fleet_page(FleetFilters(**asked), now=NOW).rows) == size * (2 if asked.get("by") == GROUP else 1)
    assert User.objects.count() == 0
