"""The reader of commands in remedies reads what it should."""

from tests.acceptance.commands import Command, commands


def test_commands_on_objects() -> None:
    text = """# kubectl delete nothing
kubectl -n shop patch pdb web --type=merge -p '{"spec":{"a":null}}'  # why
for one in a b; do kubectl delete nodeclaims.karpenter.sh $one; done
for node in n1 ...; do
  kubectl drain $node --ignore-daemonsets && kubectl delete node $node
done
kubectl annotate crd x y helm.sh/resource-policy=keep old- --overwrite
kubectl get nodepools default -o yaml | karpdash convert -f -
kubectl -n kube-system logs job/hook --tail=20
helm upgrade a b
"""
    assert list(commands(text)) == [
        Command("patch", "pdb", "web", "shop", "merge", {"spec": {"a": None}}),
        Command("delete", "nodeclaims.karpenter.sh", "a"),
        Command("delete", "nodeclaims.karpenter.sh", "b"),
        Command("drain", "node", "n1"),
        Command("delete", "node", "n1"),
        Command("annotate", "crd", "x"),
        Command("annotate", "crd", "y"),
        Command("get", "nodepools", "default"),
        Command("logs", "job", "hook", "kube-system"),
    ]
