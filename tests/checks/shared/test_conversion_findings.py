from migrations_app.checks.base import Unknown
from migrations_app.checks.shared.conversion_findings import STOPPING, UNREADABLE, conversion_items, conversion_losses
from migrations_app.conversion.finding_codes import CATALOGUE
from migrations_app.inventory.inventory import Inventory
from tests.builders.pools import AUTO_MODE, REFERENCE, a_class, a_pool, a_provisioner, a_template, at


def mixed():
    docs = (a_provisioner(), a_template(), a_pool(version="v1beta1"), a_class(version="v1beta1"))
    return at("0.32.10", *docs).build()


def test_generations_are_told_apart():
    found = {
        name: [item.kind for item in conversion_items(mixed(), generation=name)] for name in ("alpha", "beta", "v1")
    }
    assert found == {"alpha": ["Provisioner", "AWSNodeTemplate"], "beta": ["NodePool", "EC2NodeClass"], "v1": []}


def test_a_successor_of_the_same_name_is_no_loss():
    every = (*conversion_items(mixed(), generation="alpha"), *conversion_items(mixed(), generation="beta"))
    codes = {loss.code for item in every for loss in item.losses}
    assert codes & {"same-name-result", "duplicate-object", "nodeclass-name-clash"} == set()


def test_pools_of_auto_mode_are_left_out():
    inventory = at("1.0.14", a_pool({REFERENCE: AUTO_MODE})).build()
    assert conversion_items(inventory, generation="v1") == ()


def test_what_cannot_be_read_is_unknown_whatever_is_asked_for():
    inventory = at("0.37.8", a_pool({"spec.weight": "x"}, version="v1beta1")).build()
    (word,) = conversion_losses(inventory, generation="beta", codes=())
    assert isinstance(word, Unknown)
    assert word.detail.startswith("NodePool web: spec.weight: ")


def test_only_the_codes_asked_for_are_told():
    inventory = at("0.37.8", a_pool({"spec.disruption.consolidateAfter": "5m"}, version="v1beta1")).build()
    told = [word.path for word in conversion_losses(inventory, generation="beta", codes={"consolidate-after-odd"})]
    assert told == ["spec.disruption.consolidateAfter"]
    assert list(conversion_losses(inventory, generation="beta", codes=())) == []


def test_an_inventory_that_nobody_filled_in_holds_nothing():
    assert conversion_items(Inventory(cluster="test", taken_at=""), generation="alpha") == ()


def test_the_last_answer_is_that_of_the_same_inventory():
    first, second = mixed(), at("0.37.8", a_pool(version="v1beta1")).build()
    assert [len(conversion_items(one, generation="beta")) for one in (first, second, first)] == [2, 1, 2]
    assert conversion_items(first, generation="beta")[0] is conversion_items(first, generation="beta")[0]


def test_codes_are_those_of_the_catalogue():
    assert set(CATALOGUE) >= STOPPING | UNREADABLE
    assert {CATALOGUE[code].severity for code in STOPPING} == {"error", "action"}
