"""A cluster's whole way, rollout by rollout, each asked for by one person and agreed to by others."""

from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
from django.contrib.auth.models import User
from django.utils import timezone

from migrations_app.access import Person, Right
from migrations_app.flow import approve, execute, preview, run
from migrations_app.flow.approve import Yes
from migrations_app.flow.draft import Wanted, draft
from migrations_app.flow.record import Actor
from migrations_app.models.cluster import Cluster
from migrations_app.models.rollout import Rollout
from migrations_app.samples.install import Install, controller
from tests.actions import charts
from tests.actions.on_server import put
from tests.servers.apiserver import ApiServer

MOST_SLICES = 300
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def person(name: str) -> Person:
    """A superuser of that name, freshly signed in."""
    row, _ = User.objects.get_or_create(username=name, defaults={"is_superuser": True, "is_staff": True})
    rights: list[Right] = ["view", "operate", "approve", "administer"]
    return Person(id=row.pk, name=name, rights=rights, fresh_until=timezone.now() + timedelta(minutes=5))


@dataclass(slots=True)
class Story:
    """One cluster under way. `place` is the folder of charts; `rows` are the rollouts so far."""

    server: ApiServer
    cluster: Cluster
    place: Path
    rows: list[Rollout] = field(default_factory=list)

    def rollout(self, action: str, **parameters: Any) -> Rollout:
        """The rollout, previewed, approved by as many as it takes, started and worked at to its end."""
        row = self.previewed(action, **parameters)
        assert row.state == "previewed", f"{action}: {row.state}: {row.cause}"
        ada, by = person("ada"), Actor(name="ada", id=person("ada").id)
        row = approve.ask(row.pk, ada, by=by, typed=self.cluster.name)
        for name in ("grace", "alan"):
            if row.state == "awaiting_approval":
                row = self._agreed(row, person(name))
        run.start(row.pk, ada, digest=row.digest, by=by)
        for number in range(MOST_SLICES):
            if not execute.advance(row.pk, holder=f"worker-{number}"):
                break
        row.refresh_from_db()
        self.rows.append(row)
        return row

    def previewed(self, action: str, **parameters: Any) -> Rollout:
        by = Actor(name="ada", id=person("ada").id)
        pk = draft(self.cluster.pk, Wanted(action=action, parameters=parameters), by=by)
        preview.prepare(pk)
        return Rollout.objects.get(pk=pk)

    def controller(self, version: str, **env: str) -> None:
        """What `helm upgrade` does: the controller of that release, in the place of the one before."""
        (wanted,) = (
            doc for doc in controller(Install(cluster="shop", version=version, env=env), ["outside"])
            if doc["kind"] == "Deployment"
        )  # fmt: skip
        path = self.server.admin.path_of(wanted)
        if self.server.admin.request("GET", path).status == 200:
            self.server.admin.delete(path)
        put(self.server, wanted)

    def chart(self, version: str, *, converts: bool) -> str:
        """The name of a chart of that release among those that the installation may read."""
        name = f"karpenter-{version}"
        folder = self.place / name / "crds"
        folder.mkdir(parents=True, exist_ok=True)
        (folder.parent / "Chart.yaml").write_text(f"name: karpenter\nversion: {version}\nappVersion: {version}\n")
        for doc in charts.shipped(version, converts=converts):
            (folder / f"{doc['metadata']['name']}.yaml").write_bytes(msgspec.json.encode(_open(doc)))
        return name

    def convert_by(self, conversion: dict[str, Any]) -> None:
        """What a controller with webhooks does to its CRDs: it writes in where it answers."""
        for crd in self.server.admin.items(CRDS):
            if len(crd["spec"]["versions"]) > 1:
                self.server.admin.patch(f"{CRDS}/{crd['metadata']['name']}", {"spec": {"conversion": conversion}})

    def _agreed(self, row: Rollout, who: Person) -> Rollout:
        yes = Yes(
            digest=row.digest, nonce=row.nonce, typed=self.cluster.name, accepted=tuple(approve.to_accept(row))
        )  # fmt: skip
        return approve.approve(row.pk, who, yes=yes, by=Actor(name=who.name, id=who.id))


def _open(crd: dict[str, Any]) -> dict[str, Any]:
    """The CRD with a schema that keeps every field, and with the status apart as the real ones have it."""
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    rest = {"schema": schema, "subresources": {"status": {}}}
    versions = [version | rest for version in crd["spec"]["versions"]]
    return crd | {"spec": crd["spec"] | {"versions": versions}}
