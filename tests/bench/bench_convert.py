"""Speed of conversion: 1,000 mixed objects in one call, the same in one JSON list beside single files, and the start of
the command beside a bare interpreter.

Run as a script. Targets: 2,000 objects a second inside the process; a list takes at most 1.2 times what single files of
JSON take; at most 4 times the start of PyYAML alone.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from migrations_app.conversion.convert import convert
from migrations_app.conversion.reports.report import convert_texts
from migrations_app.manifests.reader import read

OBJECTS = 1000
ROUNDS = 5
STARTS = 15
WANTED_RATE = 2000
WANTED_RATIO = 4.0
WANTED_LIST_RATIO = 1.2
ROOT = Path(__file__).resolve().parents[2]

_FOUR = """\
apiVersion: karpenter.sh/v1alpha5
kind: Provisioner
metadata: {{name: pool-{n}, labels: {{team: web}}}}
spec:
  providerRef: {{name: template-{n}}}
  labels: {{tier: web}}
  annotations: {{karpenter.sh/do-not-evict: "true"}}
  taints:
  - {{key: web-only, value: "yes", effect: NoSchedule}}
  requirements:
  - {{key: karpenter.sh/capacity-type, operator: In, values: [spot, on-demand]}}
  - {{key: karpenter.k8s.aws/instance-family, operator: In, values: [m5, m6i, c6i]}}
  limits: {{resources: {{cpu: 1000, memory: 1000Gi}}}}
  ttlSecondsUntilExpired: 2592000
  ttlSecondsAfterEmpty: 30
  kubeletConfiguration: {{maxPods: 58, systemReserved: {{cpu: 100m, memory: 100Mi}}}}
---
apiVersion: karpenter.k8s.aws/v1alpha1
kind: AWSNodeTemplate
metadata: {{name: template-{n}}}
spec:
  amiFamily: Bottlerocket
  instanceProfile: nodes
  subnetSelector: {{karpenter.sh/discovery: demo, tier: "a,b"}}
  securityGroupSelector: {{karpenter.sh/discovery: demo}}
  metadataOptions: {{httpTokens: required, httpPutResponseHopLimit: 2}}
  blockDeviceMappings:
  - {{deviceName: /dev/xvda, ebs: {{volumeSize: 100Gi, volumeType: gp3, encrypted: true}}}}
  tags: {{team: web, cost: "42"}}
  userData: |
    [settings.kubernetes]
    kube-api-qps = 30
---
apiVersion: karpenter.sh/v1beta1
kind: NodePool
metadata: {{name: beta-{n}}}
spec:
  template:
    metadata: {{labels: {{tier: api}}}}
    spec:
      nodeClassRef: {{apiVersion: karpenter.k8s.aws/v1beta1, kind: EC2NodeClass, name: class-{n}}}
      requirements:
      - {{key: kubernetes.io/arch, operator: In, values: [amd64]}}
      - {{key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m, r]}}
      kubelet: {{maxPods: 110}}
  limits: {{cpu: 1000}}
  disruption: {{consolidationPolicy: WhenUnderutilized, expireAfter: 720h}}
---
apiVersion: karpenter.k8s.aws/v1beta1
kind: EC2NodeClass
metadata: {{name: class-{n}}}
spec:
  amiFamily: AL2023
  role: nodes
  subnetSelectorTerms: [{{tags: {{karpenter.sh/discovery: demo}}}}]
  securityGroupSelectorTerms: [{{tags: {{karpenter.sh/discovery: demo}}}}]
  tags: {{team: api}}
"""
_START_SMALL = "import sys; from karpdash.command import main; sys.exit(main(['convert', *sys.argv[1:]]))"


def mixed_text(objects: int) -> str:
    """So many objects of four kinds as one text."""
    return "---\n".join(_FOUR.format(n=n) for n in range(objects // 4))


def best(action: Callable[[], object]) -> float:
    """The shortest of several rounds, in seconds."""
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return min(times)


def processor(action: Callable[[], object]) -> float:
    """Processor seconds of one run."""
    start = time.process_time()
    action()
    return time.process_time() - start


def list_ratio(bodies: list[dict[str, object]]) -> float:
    """Processor time of one JSON list of the objects beside that of a file for each; they take turns."""
    whole = json.dumps({"apiVersion": "v1", "kind": "List", "items": bodies}, indent=2)
    singles = [(f"{number}.json", json.dumps(body, indent=2)) for number, body in enumerate(bodies)]
    rounds = [
        (
            processor(lambda: convert_texts([("list.json", whole)]).as_yaml()),
            processor(lambda: convert_texts(singles).as_yaml()),
        )
        for _ in range(ROUNDS)
    ]
    return min(first for first, _ in rounds) / min(second for _, second in rounds)


def start_times(*commands: list[str]) -> list[float]:
    """The median start of each command; they take turns, so that a busy machine slows all alike."""
    times: list[list[float]] = [[] for _ in commands]
    for _ in range(STARTS):
        for command, found in zip(commands, times, strict=True):
            start = time.perf_counter()
            subprocess.run(command, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=ROOT)
            found.append(time.perf_counter() - start)
    return [statistics.median(found) for found in times]


def main() -> int:
    text = mixed_text(OBJECTS)
    bodies = [manifest.body for manifest in read(text, file="mixed").manifests]
    pure = len(bodies) / best(lambda: convert(bodies))
    whole = len(bodies) / best(lambda: convert_texts([("mixed", text)]).as_yaml())
    listed = list_ratio(bodies)
    with tempfile.TemporaryDirectory() as folder:
        small = Path(folder, "small.yaml")
        small.write_text(mixed_text(4), encoding="utf-8")
        bare, ours = start_times(
            [sys.executable, "-c", "import yaml"], [sys.executable, "-c", _START_SMALL, "-f", str(small)]
        )
    sys.stdout.write(
        f"convert: {pure:,.0f} objects/s in process, {whole:,.0f} from text to text (wanted {WANTED_RATE:,})\n"
        f"convert: one JSON list takes {listed:.2f} times single files (wanted {WANTED_LIST_RATIO})\n"
        f"convert: starts in {ours * 1000:.0f} ms, {ours / bare:.2f} times PyYAML alone (wanted {WANTED_RATIO:.0f})\n"
    )
    fast = min(pure, whole) >= WANTED_RATE and listed <= WANTED_LIST_RATIO
    return 0 if fast and ours / bare <= WANTED_RATIO else 1


if __name__ == "__main__":
    sys.exit(main())
