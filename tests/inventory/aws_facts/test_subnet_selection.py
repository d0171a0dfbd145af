import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrations_app.inventory.aws_facts.subnet_selection import selected_subnets, selector_keys
from migrations_app.inventory.objects.capacity import Subnet, TaggedSubnet
from tests.fakes.aws_inventory import an_inventory, node_class, node_template


def subnet(name, **tags):
    return TaggedSubnet(subnet=Subnet(id=name, zone="a", size=256, free=9), tags=tuple(tags.items()))


def chosen(inventory, *found):
    return {one.id: one.classes for one in selected_subnets(inventory, found)}


def of_class(*terms):
    return an_inventory(ec2nodeclasses=(node_class("web", subnetSelectorTerms=list(terms)),))


def of_template(**selector):
    return an_inventory(awsnodetemplates=(node_template("web", subnetSelector=selector),))


HERE, OTHER = subnet("subnet-1", Name="web-1", tier="private"), subnet("subnet-2", Name="db", tier="private")
WEB = ("EC2NodeClass/web",)
OLD = ("AWSNodeTemplate/web",)


@pytest.mark.parametrize(
    ("terms", "found"),
    [
        ([{"tags": {"Name": "web-1"}}], {"subnet-1": WEB}),
        ([{"tags": {"Name": "web-*"}}], {"subnet-1": WEB}),
        ([{"tags": {"Name": "web-?"}}], {"subnet-1": WEB}),
        ([{"tags": {"Name": "[w]eb-1"}}], {}),
        ([{"tags": {"Name": "*"}}], {"subnet-1": WEB, "subnet-2": WEB}),
        ([{"tags": {"tier": "private", "Name": "db"}}], {"subnet-2": WEB}),
        ([{"tags": {"Name": "db,web-1"}}], {}),
        ([{"id": "subnet-2"}], {"subnet-2": WEB}),
        ([{"id": "subnet-2"}, {"tags": {"Name": "web-1"}}], {"subnet-1": WEB, "subnet-2": WEB}),
        ([{"tags": {"gone": "*"}}], {}),
        ([{}], {}),
        ([{"tags": {}}], {}),
        ([{"tags": "odd"}], {}),
        ([{"tags": {"Name": 7}}], {}),
        ([{"id": ["odd"]}], {}),
        (["odd", None], {}),
    ],
)
def test_terms_of_a_node_class(terms, found):
    assert chosen(of_class(*terms), HERE, OTHER) == found


@pytest.mark.parametrize(
    ("selector", "found"),
    [
        ({"Name": "web-1"}, {"subnet-1": OLD}),
        ({"Name": "db,web-1"}, {"subnet-1": OLD, "subnet-2": OLD}),
        ({"aws-ids": "subnet-1, subnet-9"}, {"subnet-1": OLD}),
        ({"aws::ids": "subnet-1", "tier": "public"}, {}),
        ({"tier": "*"}, {"subnet-1": OLD, "subnet-2": OLD}),
        ({"tier": 7, "Name": "web-1"}, {}),
        ({}, {}),
    ],
)
def test_the_selector_of_a_template(selector, found):
    assert chosen(of_template(**selector), HERE, OTHER) == found


def test_each_subnet_names_all_that_select_it():
    inventory = an_inventory(
        ec2nodeclasses=tuple(
            node_class(name, subnetSelectorTerms=[{"tags": {"tier": "private"}}]) for name in ("a", "b")
        ),
        awsnodetemplates=(node_template("old", subnetSelector={"Name": "db", "aws-ids": "subnet-2"}),),
    )
    both = ("EC2NodeClass/a", "EC2NodeClass/b")
    assert chosen(inventory, HERE, OTHER) == {"subnet-1": both, "subnet-2": (*both, "AWSNodeTemplate/old")}
    assert selector_keys(inventory) == {"tier", "Name"}


SCALARS = st.none() | st.booleans() | st.integers() | st.text()
ANYTHING = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner))


@given(ANYTHING)
def test_no_selector_breaks_it(anything):
    inventory = an_inventory(
        ec2nodeclasses=(node_class("web", subnetSelectorTerms=anything),),
        awsnodetemplates=(node_template("web", subnetSelector=anything),),
    )
    assert set(chosen(inventory, subnet("subnet-1"))) <= {"subnet-1"}
    assert all(isinstance(key, str) for key in selector_keys(inventory))
