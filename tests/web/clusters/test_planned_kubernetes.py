"""The cluster's pages judged with a planned Kubernetes, at an address that can be kept."""

import pytest

from migrations_app.readiness.evaluate import evaluate
from migrations_app.readiness.report import CollectResult
from tests.builders import clusters
from tests.builders.newest import NEWEST_MINOR
from tests.builders.rows import a_cluster, a_snapshot
from tests.web.pages import links, text

pytestmark = pytest.mark.django_db
UNSUPPORTED = "Kubernetes 1.99, as planned, is supported by no release of this path"


@pytest.fixture
def shop(db):
    row = a_cluster("shop")
    report = evaluate(CollectResult(clusters.a_cluster("1.0.14", kubernetes="1.30").build(), ())).report
    a_snapshot(row, report)
    return row


def page_of(client, cluster, tab="", query=""):
    return client.get(f"/clusters/{cluster.pk}/{tab}{query}")


@pytest.mark.parametrize("tab", ["", "plan"])
def test_the_page_says_from_where_on_it_is_supported(ada, shop, tab):
    assert "as planned" not in text(page_of(ada, shop, tab))
    assert UNSUPPORTED in text(page_of(ada, shop, tab, "?kubernetes=1.99"))


def test_the_hop_that_does_not_support_it_is_blocked(ada, shop):
    words = text(page_of(ada, shop, "", f"?kubernetes=1.99&hop={NEWEST_MINOR}"))
    assert "1. 99 (planned)" in words
    assert "1. 99 (planned)" not in text(page_of(ada, shop, "", f"?hop={NEWEST_MINOR}"))


def test_links_keep_the_plan_so_that_the_address_can_be_kept(ada, shop):
    page = page_of(ada, shop, "", "?kubernetes=1.34")
    assert f"/clusters/{shop.pk}/plan?kubernetes=1.34" in links(page)
    assert f"/clusters/{shop.pk}/?kubernetes=1.34&hop=1.1%2B" in links(page)
    assert 'value="1.34"' in page.content.decode()


@pytest.mark.parametrize("given", ["latest", "<b>1</b>", "1" * 41])
def test_what_is_no_version_is_said_and_nothing_is_planned(ada, shop, given):
    page = page_of(ada, shop, "", f"?kubernetes={given}")
    assert page.status_code == 200
    assert "is not a Kubernetes version, such as 1.33" in text(page)
    assert "as planned" not in text(page)
    assert "<b>1</b>" not in page.content.decode()


def test_every_page_says_how_far_the_tables_reach(ada, shop):
    for tab in ("", "plan"):
        assert "Known up to Karpenter" in text(page_of(ada, shop, tab))
