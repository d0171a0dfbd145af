import pytest

from migrations_app.karpenter.hops import ALPHA_LEFT, BETA_LEFT, CONVERTED, every_hop, hops_between, hops_from
from migrations_app.karpenter.releases import RELEASES
from migrations_app.karpenter.upgrade_path import hop_of
from migrations_app.karpenter.versions import release


def test_every_hop_in_order():
    hops = every_hop()
    assert hops[:8] == ("0.28", "0.29", "0.30", "0.31", "0.32", "0.33+", "1.0", "1.1+")
    assert hops[8:] == tuple(row.minor for row in RELEASES if row.order > (1, 1))


@pytest.mark.parametrize("row", RELEASES, ids=lambda row: row.minor)
def test_every_landing_has_a_hop_of_that_name(row):
    assert hop_of(row.newest, start=release("0.28.0")) in every_hop()


def test_spans():
    assert hops_between("0.32", "1.0") == ("0.32", ALPHA_LEFT, CONVERTED)
    assert hops_from(BETA_LEFT)[:2] == ("1.1+", "1.2")
    assert hops_from("0.28") == every_hop()


@pytest.mark.parametrize("wrong", ["0.33", "1.1", "9.9", ""])
def test_a_hop_that_is_none(wrong):
    with pytest.raises(ValueError, match="not in tuple"):
        hops_from(wrong)


def test_a_new_minor_is_a_new_hop():
    assert every_hop(table=RELEASES[:-1]) == every_hop()[:-1]
