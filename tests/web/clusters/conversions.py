"""Clusters whose objects are kept, for pages that convert them."""

import json
import re
from html import unescape

from migrations_app.models.cluster import Cluster
from migrations_app.use_cases.scans.store import store_objects
from tests.builders.rows import NOW, a_cluster, a_snapshot
from tests.web.pages import tags, text

POOL = {
    "apiVersion": "karpenter.sh/v1alpha5",
    "kind": "Provisioner",
    "metadata": {"name": "default", "labels": {"team": "web"}},
    "spec": {"providerRef": {"name": "nodes"}, "ttlSecondsAfterEmpty": 30},
}
TEMPLATE = {
    "apiVersion": "karpenter.k8s.aws/v1alpha1",
    "kind": "AWSNodeTemplate",
    "metadata": {"name": "nodes"},
    "spec": {
        "amiFamily": "AL2",
        "instanceProfile": "node-profile",
        "subnetSelector": {"karpenter.sh/discovery": "shop"},
        "securityGroupSelector": {"karpenter.sh/discovery": "shop"},
    },
}
BETA = {
    "apiVersion": "karpenter.sh/v1beta1",
    "kind": "NodePool",
    "metadata": {"name": "beta"},
    "spec": {"template": {"spec": {"nodeClassRef": {"name": "nodes"}, "requirements": []}}},
}
BROKEN = {
    **POOL,
    "metadata": {"name": "broken"},
    "spec": {"providerRef": {"name": "nodes"}, "ttlSecondsAfterEmpty": -1},
}


def a_cluster_with(*objects, name="shop-prod", **snapshot) -> Cluster:
    cluster = a_cluster(name)
    a_snapshot(cluster, at=NOW, **snapshot)
    store_objects(cluster.pk, objects, now=NOW)
    return cluster


def as_text(*objects) -> str:
    """The objects as documents; JSON is YAML."""
    return "\n---\n".join(json.dumps(one, indent=1) for one in objects)


def cards(answer) -> list[str]:
    """The heading of each object: kind, name, results, outcome."""
    found = re.findall(r"<summary data-row.*?</summary>", answer.content.decode(), flags=re.DOTALL)
    return [re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", one))).strip() for one in found]


def ids(answer) -> list[str]:
    return re.findall(r'\sid="([^"]*)"', answer.content.decode())


def row(answer, row_id: str) -> str:
    """The markup of one line, without the line breaks of the template."""
    found = re.findall(r"<tr[^>]*>.*?</tr>", tags(answer))
    (one,) = [row for row in found if f'id="{row_id}"' in row]
    return one


def downloaded(answer) -> tuple[str, str]:
    """Name and content of the file that came."""
    assert answer.status_code == 200, text(answer)
    name = re.fullmatch(r'attachment; filename="([^"]+)"', answer.headers["Content-Disposition"])
    assert name, answer.headers["Content-Disposition"]
    return name[1], answer.content.decode()
