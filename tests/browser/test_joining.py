"""Two registrations of one cluster are joined by hand: from the warning to the page of the one that stays."""

import pytest

from migrations_app.models.cluster import Cluster, ClusterGroup, ClusterLabel
from tests.browser.barriers import WIDTHS, faults
from tests.builders.rows import a_cluster, a_snapshot


@pytest.fixture
def pair(db):
    rows = [a_cluster(name, kube_system_uid="uid-1", ca_digest=name) for name in ("shop", "shop-again")]
    for row in rows:
        a_snapshot(row)
    ClusterGroup.objects.create(name="team").clusters.add(rows[1])
    ClusterLabel.objects.create(cluster=rows[1], key="region", value="eu-west-1")
    return rows


@pytest.mark.parametrize("width", WIDTHS)
def test_one_registration_is_left(browse, pair, width):
    page = browse(viewport={"width": width, "height": 1000})
    page.goto(f"/clusters/{pair[0].pk}/")
    page.get_by_role("link", name="Join the registrations").click()
    page.get_by_role("heading", name="Join shop-again with shop").wait_for()
    assert faults(page) == []
    page.get_by_label("Type the name of the registration that ends").fill("shop-again")
    page.get_by_role("button", name="Join the registrations").click()
    page.get_by_text("shop-again is joined with shop, and a scan begins.", exact=True).wait_for()
    assert list(Cluster.objects.values_list("name", flat=True)) == ["shop"]
