"""The objects that a conversion takes: whole manifests, without what changes by itself."""

from migrations_app.inventory.facts.node_classes import convertible
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects import karpenter as o
from migrations_app.inventory.objects.base import Metadata
from migrations_app.inventory.parts import Seen, Unseen

NOW = "2026-11-21T10:00:00Z"


def inventory(**parts):
    return Inventory(cluster="c", taken_at=NOW, **parts)


def test_a_manifest_has_name_labels_annotations_and_spec():
    annotations = {
        "kubectl.kubernetes.io/last-applied-configuration": "",
        "karpenter.sh/provisioner-hash": "1",
        "argocd.argoproj.io/tracking-id": "x",
    }
    metadata = Metadata(
        name="default", uid="u", resource_version="7", labels={"team": "web"}, annotations=annotations, generation=3
    )
    spec = {"weight": 1, "ttlSecondsAfterEmpty": None}
    one = o.Provisioner(metadata=metadata, spec=spec, status={"resources": {"cpu": "1"}})
    assert convertible(inventory(provisioners=Seen((one,), served="karpenter.sh/v1alpha5"))) == (
        {
            "apiVersion": "karpenter.sh/v1alpha5",
            "kind": "Provisioner",
            "metadata": {
                "name": "default",
                "labels": {"team": "web"},
                "annotations": {"argocd.argoproj.io/tracking-id": "x"},
            },
            "spec": spec,
        },
    )


def test_an_object_that_tells_its_own_version_is_believed():
    one = o.NodePool(kind="NodePool", api_version="karpenter.sh/v1", metadata=Metadata(name="a"))
    assert convertible(inventory(nodepools=Seen((one,), served="karpenter.sh/v1beta1"))) == (
        {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "a"}, "spec": {}},
    )


def test_kinds_and_names_stand_in_one_order():
    seen = {
        "ec2nodeclasses": Seen((o.EC2NodeClass(metadata=Metadata(name="k")),), served="karpenter.k8s.aws/v1beta1"),
        "nodepools": Seen(
            tuple(o.NodePool(metadata=Metadata(name=name)) for name in "ba"), served="karpenter.sh/v1beta1"
        ),
        "awsnodetemplates": Seen(
            (o.AWSNodeTemplate(metadata=Metadata(name="t")),), served="karpenter.k8s.aws/v1alpha1"
        ),
        "provisioners": Unseen("forbidden"),
    }
    found = [(tree["apiVersion"], tree["kind"], tree["metadata"]["name"]) for tree in convertible(inventory(**seen))]
    assert found == [
        ("karpenter.k8s.aws/v1alpha1", "AWSNodeTemplate", "t"),
        ("karpenter.sh/v1beta1", "NodePool", "a"),
        ("karpenter.sh/v1beta1", "NodePool", "b"),
        ("karpenter.k8s.aws/v1beta1", "EC2NodeClass", "k"),
    ]


def test_nothing_was_asked():
    assert convertible(inventory()) == ()
