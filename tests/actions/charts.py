"""Charts for tests of upgrade_crds: small ones made from the tables, and the real CRDs."""

from pathlib import Path
from typing import Any

import msgspec
import yaml

from migrations_app.actions.targets.crds import CHART, ORIGIN
from migrations_app.samples.installation import CONVERTED, Crds, crds
from tests import upstream

WEBHOOK = {"name": "karpenter", "namespace": "kube-system", "port": 8443}
CONVERSION = {
    "strategy": "Webhook",
    "webhook": {"conversionReviewVersions": ["v1beta1", "v1"], "clientConfig": {"service": WEBHOOK}},
}


def shipped(version: str, *, converts: bool) -> list[dict[str, Any]]:
    """The CRDs as the main chart of that release has them, without status."""
    found = [{key: value for key, value in doc.items() if key != "status"} for doc in crds(Crds(version=version))]
    return [doc | {"spec": _spec(doc, converts=converts)} for doc in found]


def _spec(doc: dict[str, Any], *, converts: bool) -> dict[str, Any]:
    spec = {key: value for key, value in doc["spec"].items() if key != "conversion"}
    return spec | {"conversion": CONVERSION} if converts and doc["metadata"]["name"] in CONVERTED else spec


def files(version: str, docs: list[dict[str, Any]] | None = None, *, converts: bool = False) -> dict[str, bytes]:
    """What flow gives to the action."""
    given = shipped(version, converts=converts) if docs is None else docs
    listed = {f"crds/{number}.yaml": msgspec.json.encode([doc]) for number, doc in enumerate(given)}
    about = {"name": "karpenter", "version": version, "appVersion": version}
    return {CHART: msgspec.json.encode(about), ORIGIN: b"charts/test", **listed}


def real_chart(place: Path, tag: str, *, version: str) -> str:
    """The name of a folder below `place` that is the chart with the real CRDs of that tag."""
    folder = place / f"karpenter-{version}"
    (folder / "crds").mkdir(parents=True)
    (folder / "Chart.yaml").write_text(f"name: karpenter\nversion: {version}\nappVersion: {version}\n")
    for doc in upstream.crds(tag):
        (folder / "crds" / f"{doc['metadata']['name']}.yaml").write_text(yaml.safe_dump(doc))
    return folder.name
