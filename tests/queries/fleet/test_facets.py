"""Each choice of the fleet's filters says how many clusters it leaves beside the other filters."""

import pytest

from migrations_app.models.cluster import ClusterGroup, ClusterLabel
from migrations_app.queries.fleet.clusters import FleetFilters, fleet_page
from migrations_app.queries.fleet.facets import FleetFacets, fleet_facets
from migrations_app.queries.visibility import ALL, visibility_scope
from tests.builders.rows import NOW, a_cluster, a_report, a_snapshot

pytestmark = pytest.mark.django_db
ARN = "arn:aws:eks:eu-west-1:123456789012:cluster/c"


@pytest.fixture(autouse=True)
def everything():
    with visibility_scope(ALL):
        yield


@pytest.fixture
def group():
    """Three clusters: two of production, one of them by its ARN in a region; one of test and in the group."""
    a_cluster("a", environment="prod", eks_arn=ARN)
    blocked = a_cluster("b", environment="prod")
    a_snapshot(blocked, a_report("b"))
    other = a_cluster("c", environment="test")
    for row in (blocked, other):
        ClusterLabel.objects.create(cluster=row, key="team", value="shop")
    made = ClusterGroup.objects.create(name="shop")
    made.clusters.add(blocked, other)
    return made


def test_without_filters_they_are_those_of_the_whole_fleet(group):
    assert fleet_facets(FleetFilters(), now=NOW) == FleetFacets(
        environments={"prod": 2, "test": 1},
        groups=((group.pk, "shop", 2),),
        labels={
            "account": {"123456789012": 1}, "environment": {"prod": 2, "test": 1}, "region": {"eu-west-1": 1},
            "team": {"shop": 2},
        },
    )  # fmt: skip


@pytest.mark.parametrize(
    "more",
    [{"environment": "test"}, {"labels": ("team:shop",)}, {"buckets": ("blocked",)}, {"q": "b"}, {"stage": "alpha"}],
)
def test_each_number_is_that_of_the_list_that_it_leads_to(group, more):
    filters = FleetFilters(**more)
    told = fleet_facets(filters, now=NOW)
    for name, number in told.environments.items():
        assert fleet_page(FleetFilters(**(more | {"environment": name})), now=NOW).matching == number
    for key, _, number in told.groups:
        assert fleet_page(FleetFilters(**(more | {"group": key})), now=NOW).matching == number
    for key, values in told.labels.items():
        for value, number in values.items():
            labels = (*filters.labels, f"{key}:{value}")
            assert fleet_page(FleetFilters(**(more | {"labels": labels})), now=NOW).matching == number
    assert told.environments


def test_an_own_choice_does_not_hide_the_others(group):
    told = fleet_facets(FleetFilters(environment="test", group=group.pk), now=NOW)
    assert (told.environments, told.groups) == ({"prod": 1, "test": 1}, ((group.pk, "shop", 1),))
    assert told.labels["team"] == {"shop": 1}


@pytest.mark.parametrize("size", [1, 40])
def test_their_queries_do_not_grow(size, django_assert_num_queries):
    for number in range(size):
        ClusterLabel.objects.create(cluster=a_cluster(f"c{number}", environment=f"e{number}"), key="k", value="v")
    with django_assert_num_queries(3):
        fleet_facets(FleetFilters(), now=NOW)
