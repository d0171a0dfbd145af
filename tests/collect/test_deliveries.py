"""What names Karpenter delivers it, but for what is scheduled on its nodes or waits for it."""

from typing import Any

import pytest

from migrations_app.collect.deliveries import delivers_karpenter
from migrations_app.inventory.objects.karpenter import GitOpsDelivery, Metadata

NODE = {"karpenter.sh/nodepool": "runners"}
EXPRESSION = {"matchExpressions": [{"key": "karpenter.k8s.aws/instance-cpu", "operator": "Gt", "values": ["3"]}]}
TERMS = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [EXPRESSION]}}}
POOL = "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: a}\n"
DEPLOYMENT = (
    "kind: Deployment\nspec:\n  template:\n    metadata:\n      annotations: {karpenter.sh/do-not-disrupt: 'true'}\n"
)


def delivery(name: str = "shop", **spec: Any) -> GitOpsDelivery:
    return GitOpsDelivery(metadata=Metadata(name=name), kind="HelmRelease", spec=spec)


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"values": {"nodeSelector": NODE, "affinity": TERMS}},
        {"values": {"web": {"tolerations": [{"key": "karpenter.sh/disrupted", "operator": "Exists"}]}}},
        {"values": {"topologySpreadConstraints": [{"topologyKey": "karpenter.sh/capacity-type"}]}},
        {"values": {"podAnnotations": {"karpenter.sh/do-not-disrupt": "true"}}},
        {"values": {"runners": {"template": {"labels": {"karpenter.sh/capacity-type": "spot"}}}}},
        {"dependsOn": [{"name": "karpenter"}], "path": "./apps"},
        {"source": {"helm": {"values": "web:\n  nodeSelector:\n    karpenter.sh/nodepool: runners\n"}}},
        {"patches": [{"patch": DEPLOYMENT}]},
        {"values": {"config": f"pod: |\n  nodeSelector:\n    karpenter.sh/nodepool: a\n{DEPLOYMENT}"}},
    ],
)
def test_a_program_on_nodes_of_karpenter_does_not_deliver_it(spec: dict[str, Any]) -> None:
    assert not delivers_karpenter(delivery(**spec))


@pytest.mark.parametrize(
    "spec",
    [
        {"chart": {"spec": {"chart": "karpenter"}}},
        {"source": {"repoURL": "public.ecr.aws/karpenter", "chart": "controller"}},
        {"path": "./infrastructure/karpenter/prod"},
        {"destination": {"namespace": "karpenter"}},
        {"values": {"karpenter": {"replicas": 1}, "nodeSelector": NODE}},
        {"values": {"pools": [{"requirements": [{"key": "karpenter.sh/capacity-type", "operator": "Exists"}]}]}},
        {"values": {"subnets": {"karpenter.sh/discovery": "prod"}}},
        {"values": {"annotations": {"karpenter.sh/v1": "x"}}},
        {"values": {"annotations": {"role": "arn:aws:iam::111122223333:role/karpenter"}}},
        {"values": {"extraObjects": [POOL]}},
        {"values": {"extraObjects": [f"{POOL}---\n{DEPLOYMENT}"]}},
        {"source": {"helm": {"values": "nodeSelector: {{ karpenter }}\nx: y\n"}}},
        {"source": {"helm": {"values": "# of karpenter\nonly text\n"}}},
        {"ignoreDifferences": [{"group": "karpenter.sh", "kind": "NodePool"}]},
    ],
)
def test_what_may_deliver_karpenter_counts(spec: dict[str, Any]) -> None:
    assert delivers_karpenter(delivery(**spec))


def test_a_name_says_it() -> None:
    assert delivers_karpenter(delivery("karpenter-nodes", path="./nodes"))


def test_a_text_in_a_text_in_a_text_is_read_to_a_depth() -> None:
    text = DEPLOYMENT
    for _ in range(3):
        text = "inner: |\n" + "".join(f"  {line}\n" for line in text.splitlines())
    assert delivers_karpenter(delivery(values={"config": text}))
