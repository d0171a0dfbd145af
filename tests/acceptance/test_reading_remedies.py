"""The readers of remedies read what they should, and refuse what is broken."""

import shutil
import subprocess

import pytest

from tests.acceptance.commands import Command, commands
from tests.acceptance.hcl import BadHclError, read

GOOD = {
    'a = "b"': ["a"],
    "# only words\n": [],
    'version = "1"\nvalues = [<<-YAML\n  a:\n    b: [1]\n  YAML\n]\n': ["version", "values"],
    'resource "aws_x" "y" {\n  name = "$${a}"\n  policy = jsonencode({"A": [1, true], "b" = {}})\n}\n': ["resource"],
    "a = [\n  1,\n  2,\n]\nb = x.y[0].z": ["a", "b"],
    'x {\n  y {\n    z = -1.5\n  }\n}\n\nq = f(1, "2")': ["x", "q"],
    'a = {\n  b = 1\n  "c d": 2\n}': ["a"],
}
BAD = [
    "a",
    'a = "b',
    "a = ",
    "a b = 1",
    "a {",
    "a = [1 2]",
    "a = 1 b = 2",
    "a = <<X\nb",
    'a = "${b"',
    "}",
    "1 = 2",
    "? = 1",
]


@pytest.mark.parametrize("text", GOOD)
def test_what_is_hcl_is_read(text: str) -> None:
    assert read(text) == GOOD[text]


@pytest.mark.parametrize("text", BAD)
def test_what_is_none_is_refused(text: str) -> None:
    with pytest.raises(BadHclError):
        read(text)


@pytest.mark.parametrize(("text", "good"), [*((text, True) for text in GOOD), *((text, False) for text in BAD)])
def test_terraform_agrees_where_it_is_at_hand(text: str, good: bool) -> None:
    program = shutil.which("terraform")
    if program is None:
        pytest.skip("terraform is not at hand")
    done = subprocess.run([program, "fmt", "-"], input=text, text=True, capture_output=True, check=False)
    assert (done.returncode == 0) is good


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
