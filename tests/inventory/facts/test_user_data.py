from migrations_app.inventory.facts.node_classes import barred_claims, untainted
from tests.builders.pools import AUTO_MODE, a_claim, a_class, at

BARRED = [{"type": "Registered", "status": "Unknown", "reason": "UnregisteredTaintNotFound"}]


def test_classes_that_join_untainted():
    made = (
        a_class({"spec.amiFamily": "Custom"}, name="none"),
        a_class({"spec.userData": "nodeadm init -c file:///own"}, name="own"),
        a_class({"spec.userData": "nodeadm init"}, name="imds"),
        a_class({"spec.userData": "echo"}, name="merged"),
        a_class({"spec.amiFamily": "Custom", "spec.userData": "karpenter.sh/unregistered"}, name="tainted"),
    )
    classes = at("1.0.14", *made).build().ec2nodeclasses.items
    assert [(one.node_class.name, one.how) for one in untainted(classes)] == [
        ("none", "Custom, no user data"),
        ("own", "nodeadm init called without the taint"),
    ]


def test_claims_that_were_left_out():
    first = a_claim({"status.conditions": BARRED}, number=1)[0]
    second = a_claim({"status.conditions": [{**BARRED[0], "status": "True"}]}, number=2)[0]
    foreign = a_claim({"status.conditions": BARRED, "spec.nodeClassRef": AUTO_MODE}, number=3)[0]
    nothing = a_claim({"status": {}}, number=4)[0]
    inventory = at("1.0.14", first, second, foreign, nothing).build()
    assert barred_claims(inventory) == (first["metadata"]["name"],)
