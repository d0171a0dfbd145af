"""What the page of a cluster says where the signs of the running version disagree."""

import msgspec
import pytest

from tests.builders.rows import a_cluster, a_report, a_snapshot
from tests.web.pages import text

pytestmark = pytest.mark.django_db


def test_what_contradicts_the_running_version_is_introduced(ada):
    facts = msgspec.structs.replace(a_report().cluster, disagreements=("shape of the CRDs fits 0.32 to 0.37",))
    shop = a_cluster("shop")
    a_snapshot(shop, msgspec.structs.replace(a_report(), cluster=facts))
    words = text(ada.get(f"/clusters/{shop.pk}/"))
    assert "Signs of the running version disagree: shape of the CRDs fits 0.32 to 0.37." in words
