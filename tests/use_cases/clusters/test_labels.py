"""Labels: set, changed, taken away; the environment is one of them, and an ARN is believed before people."""

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrations_app.errors import Conflict, InvalidInput, NotFound
from migrations_app.models.audit import AuditEvent
from migrations_app.models.cluster import Cluster, ClusterLabel
from migrations_app.queries.fleet.labels import Label, label_choices, labels_of, place_in, with_labels
from migrations_app.use_cases.clusters import labels
from tests.builders.rows import a_cluster

pytestmark = pytest.mark.django_db
ARN = "arn:aws:eks:eu-west-1:123456789012:cluster/shop"


def test_labels_are_set_changed_and_taken_away():
    shop = a_cluster(environment="dev")
    assert labels.set_labels(shop.pk, {"team": " a ", "cost/center": "7", "environment": "prod"}) == 2
    assert labels.set_labels(shop.pk, {"team": "b", "cost/center": "", "never": ""}, version=2) == 3
    assert labels_of(shop.pk) == (Label("environment", "prod"), Label("team", "b"))
    assert (Cluster.objects.get().environment, ClusterLabel.objects.count()) == ("prod", 1)
    changes = [event.detail for event in AuditEvent.objects.filter(verb="cluster.labelled").order_by("seq")]
    assert changes == [
        '{"changes":{"cost/center":["","7"],"environment":["dev","prod"],"team":["","a"]}}',
        '{"changes":{"cost/center":["7",""],"team":["a","b"]}}',
    ]


def test_what_changes_nothing_is_not_told():
    shop = a_cluster(environment="dev")
    assert labels.set_labels(shop.pk, {"environment": "dev", "team": ""}) == 1
    assert AuditEvent.objects.count() == 0


def test_the_arn_is_believed_before_people():
    shop = a_cluster()
    labels.set_labels(shop.pk, {"region": "mars", "account": "1"})
    Cluster.objects.update(eks_arn=ARN)
    derived = (Label("account", "123456789012", derived=True), Label("region", "eu-west-1", derived=True))
    assert labels_of(shop.pk) == derived
    with pytest.raises(Conflict) as refused:
        labels.set_labels(shop.pk, {"team": "a", "region": "moon"})
    assert (refused.value.code, labels_of(shop.pk)) == ("derived", derived)
    assert labels.set_labels(shop.pk, {"region": "eu-west-1"}) == 2


@pytest.mark.parametrize("arn", ["", "arn:aws-cn:eks:cn-north-1:123456789012:cluster/a", ARN])
def test_the_database_reads_an_arn_as_we_do(arn):
    a_cluster(eks_arn=arn)
    place = place_in(arn)
    for key in ("region", "account"):
        found = {
            value for value in (place.get(key, ""), "other") if with_labels(Cluster.objects.all(), [f"{key}:{value}"])
        }
        assert found == {place.get(key, "")}
    assert label_choices() == {key: (value,) for key, value in place.items()}


@pytest.mark.parametrize(
    ("key", "value", "where"),
    [("", "a", "key"), ("Team", "a", "key"), ("a:b", "a", "key"), ("-a", "a", "key"), ("x" * 64, "a", "key"),
     ("team", "a,b", "value"), ("team", "a\nb", "value"), ("team", "x" * 121, "value"),
     ("environment", "x" * 41, "value")],
)  # fmt: skip
def test_what_can_be_no_label(key, value, where):
    shop = a_cluster()
    with pytest.raises(InvalidInput) as refused:
        labels.set_labels(shop.pk, {key: value})
    assert (refused.value.where, ClusterLabel.objects.count()) == (where, 0)


def test_a_cluster_has_so_many_at_most():
    shop = a_cluster()
    labels.set_labels(shop.pk, {f"k{number}": "a" for number in range(labels.MAX_LABELS)})
    with pytest.raises(InvalidInput):
        labels.set_labels(shop.pk, {"more": "a"})
    assert ClusterLabel.objects.count() == labels.MAX_LABELS


def test_a_change_that_somebody_else_made_is_not_overwritten():
    shop = a_cluster()
    labels.set_labels(shop.pk, {"team": "a"}, version=1)
    with pytest.raises(Conflict) as refused:
        labels.set_labels(shop.pk, {"team": "b"}, version=1)
    assert (refused.value.code, labels_of(shop.pk)) == ("stale", (Label("team", "a"),))
    with pytest.raises(NotFound):
        labels.set_labels(uuid.uuid4(), {"team": "a"})


def test_many_at_once_name_those_that_were_left():
    shop, other, known = a_cluster("shop"), a_cluster("other"), a_cluster("known", eks_arn=ARN)
    done = labels.label_all([shop.pk, other.pk, known.pk, uuid.uuid4()], {"region": "mars"})
    assert done == (2, ("known",))
    assert [labels_of(one.pk) for one in (shop, other)] == [(Label("region", "mars"),)] * 2


@given(st.text(max_size=80), st.text(max_size=200))
def test_what_is_taken_can_be_asked_for(key, value):
    try:
        said = labels.checked({key: value})
    except InvalidInput:
        return
    ((taken, text),) = said.items()
    assert f"{taken}:{text}".partition(":") == (taken, ":", text)
    assert f"{taken}:{text}".split(",") == [f"{taken}:{text}"]
