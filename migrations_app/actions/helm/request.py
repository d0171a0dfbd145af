"""One run of helm as values: the release, its chart and values, and every request of the run."""

from typing import Any, Literal

import msgspec

from migrations_app.actions.changes import ActionValue, ObjectTarget, PlannedRequest
from migrations_app.actions.gates.controller_gate import ControllerGate
from migrations_app.karpenter import kinds

HelmOperation = Literal["upgrade", "rollback"]
RECORD = "sh.helm.release.v1"


class SourceRecord(ActionValue, frozen=True):
    """The record of the revision that the run replaces: its uid, and the digest of its labels."""

    uid: str
    digest: str


class HelmRequest(ActionValue, frozen=True):
    """One change that helm will send. `digest` is the digest of its body; empty for the deletion of a hook's object,
    whose body does not matter. `live` is the digest of the object when the change was computed. `again`: the request
    may be sent more than once.
    """

    method: str
    path: str
    digest: str = ""
    live: str = ""
    again: bool = False

    def allows(self, method: str, path: str, *, digest: str) -> bool:
        return (method, path) == (self.method, self.path) and self.digest in ("", digest)


class HelmRun(ActionValue, frozen=True):
    """One run of helm. `before` is the revision that the run replaces, `to` the revision that a rollback goes back to.

    `source` and `chart_digest` identify the chart, `values_digest` its values.
    """

    do: HelmOperation
    release: str
    namespace: str
    before: int
    to: int = 0
    chart: str = ""
    version: str = ""
    source: str = ""
    chart_digest: str = ""
    changes: tuple[tuple[str, str], ...] = ()
    """Dotted keys of values that change, each with its value as JSON; empty: the key is removed."""
    values_digest: str = ""
    requests: tuple[HelmRequest, ...] = ()

    @property
    def makes(self) -> ObjectTarget:
        """The record of the new revision: it shows the run."""
        return record_target(self.namespace, self.release, revision=self.before + 1)

    @property
    def former(self) -> ObjectTarget:
        """The record of the revision that the run replaces."""
        return record_target(self.namespace, self.release, revision=self.before)

    def as_change(self) -> PlannedRequest:
        """The run as the change of a step: its target is the record that it makes."""
        return PlannedRequest(verb="helm", target=self.makes, body=msgspec.to_builtins(self))


class HelmProposal(ActionValue, frozen=True):
    """What helm would do, from a dry run. `objects`: each object and the effect on it. `gate`: the controller that has
    to run afterwards; None if the chart has no controller.
    """

    run: HelmRun
    from_version: str
    objects: tuple[tuple[str, str], ...]
    record: SourceRecord
    helm: str
    gate: ControllerGate | None = None
    former: ControllerGate | None = None
    """The controller that ran before: the gate of a rollback."""


def record_target(namespace: str, release: str, *, revision: int) -> ObjectTarget:
    """The Secret that holds the record of that revision."""
    row = kinds.SECRET
    name = f"{RECORD}.{release}.v{revision}"
    return ObjectTarget(row.group, row.versions[0], row.plural, row.kind, name, namespace=namespace)


def run_of(body: dict[str, Any]) -> HelmRun:
    """The run that a change with the verb `helm` describes."""
    return msgspec.convert(body, type=HelmRun)
