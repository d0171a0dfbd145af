"""What a remedy patches, a real API server takes: a dry run of each patch over the object as the cluster holds it."""

import copy
from itertools import product
from typing import Any, NamedTuple

from migrations_app.conversion.convert import convert
from tests.acceptance.advice import Advice, advice
from tests.acceptance.clusters import CLEAN
from tests.acceptance.commands import Command, commands
from tests.acceptance.judged_faults import ONE_WORKER
from tests.acceptance.test_remedies import kind_of
from tests.servers.api_client import RefusedError
from tests.servers.apiserver import ApiServer
from tests.servers.crds import without_rules
from tests.upstream import crd_tags, crds

pytestmark = ONE_WORKER

Document = dict[str, Any]
GIVEN_OUT = ("uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "deletionTimestamp")
SERVED_AS = {"policy/v1": "policy/v1beta1"}
"""What a 1.20 server serves in the place of versions that it does not know yet; their fields are the same."""


class Patching(NamedTuple):
    """A patch that a remedy tells, the object it is for, and the definition of that object's kind if it needs one."""

    command: Command
    advice: Advice
    object: Document
    definition: Document | None


def patchings() -> list[Patching]:
    """Each patch once for each version of what it is for."""
    every = [(command, one) for one in advice() for command in commands(one.remedy.text) if command.patch is not None]
    # What an earlier hop makes is not there yet.
    found = [
        Patching(command, one, there, None)
        for command, one in every
        if (there := _object(command, one)) and not _goes_on(command, there)
    ]
    once = {(one.object["apiVersion"], one.object["kind"], repr(one.command.patch)): one for one in found}
    return [_as_filled_in(one._replace(definition=_definition(one.object, one.advice))) for one in once.values()]


def _goes_on(command: Command, document: Document) -> bool:
    """Whether the patch tests a list that is the one of the object with an entry more, which an earlier hop adds."""
    for path, value in _tests(command):
        found = _at(document, path)
        if isinstance(value, list) and isinstance(found, list) and found != value and found == value[: len(found)]:
            return True
    return False


def _as_filled_in(one: Patching) -> Patching:
    """A patch that tests what its object lacks: the object under the first CRDs that fill that in, or as v1 where the
    conversion does. Unchanged if neither does, so that the server refuses the patch.
    """
    missing = [(path, value) for path, value in _tests(one.command) if value and _at(one.object, path) is None]
    version = one.object["apiVersion"].rpartition("/")[2]
    for name, tag in product(dict.fromkeys((version, "v1")), crd_tags() if missing else ()):
        (shown,) = [one.object] if name == version else convert([one.object]).objects
        for crd in crds(tag):
            schemas = {each["name"]: each["schema"]["openAPIV3Schema"] for each in crd["spec"]["versions"]}
            if crd["spec"]["names"]["kind"] != one.object["kind"] or name not in schemas:
                continue
            if all(value in (_at(shown, path), _default(schemas[name], path)) for path, value in missing):
                made = without_rules({**crd, "metadata": {"name": crd["metadata"]["name"]}})
                return one._replace(object=shown, definition={**made, "spec": _as_written(shown, made["spec"])})
    return one


def _tests(command: Command) -> list[tuple[list[str], Any]]:
    """The paths that a JSON patch tests, each with the value."""
    steps = command.patch if isinstance(command.patch, list) else []
    return [(step["path"].split("/")[1:], step["value"]) for step in steps if step["op"] == "test"]


def _at(document: Any, path: list[str]) -> Any:
    for part in path:
        name = part.replace("~1", "/").replace("~0", "~")
        document = document[int(name)] if isinstance(document, list) else (document or {}).get(name)
    return document


def _default(schema: Document, path: list[str]) -> Any:
    for part in path:
        schema = schema.get("properties", {}).get(part, {})
    return schema.get("default")


def _object(command: Command, one: Advice) -> Document | None:
    kind = kind_of(command.resource)
    every = [
        document
        for document in one.documents
        if (document["kind"].lower(), document["metadata"]["name"]) == (kind, command.name)
        and command.namespace in ("", document["metadata"].get("namespace", ""))
    ]
    if not every:
        return None
    (found,) = every
    metadata = {key: value for key, value in found["metadata"].items() if key not in GIVEN_OUT}
    served = SERVED_AS.get(found["apiVersion"], found["apiVersion"])
    return {**copy.deepcopy(found), "apiVersion": served, "metadata": {**metadata, "ownerReferences": []}}


def _definition(document: Document, one: Advice) -> Document | None:
    """That of the cluster; the sample fleet has outlines only, which would take fields away."""
    wanted = (document["apiVersion"].partition("/")[0], document["kind"])
    for found in one.documents:
        spec = found.get("spec", {})
        if found["kind"] == "CustomResourceDefinition" and (spec["group"], spec["names"]["kind"]) == wanted:
            metadata = {"name": found["metadata"]["name"]}
            whole = without_rules({**found, "metadata": metadata, "spec": _as_written(document, spec)})
            return whole if one.cluster in {clean.name for clean in CLEAN} or "/" in one.cluster else _lenient(whole)
    return None


def _as_written(document: Document, spec: Document) -> Document:
    """Stores what the object was written as, since the webhook that converts is no part of this server."""
    written = document["apiVersion"].rpartition("/")[2]
    versions = [{**one, "storage": one["name"] == written} for one in spec["versions"]]
    return {**spec, "conversion": {"strategy": "None"}, "versions": versions}


def _tried(server: ApiServer, one: Patching) -> str:
    """What the server has against the patch; empty where nothing."""
    server.wipe()
    if one.definition:
        server.load_documents([one.definition])
    if space := one.object["metadata"].get("namespace"):
        server.admin.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}})
    _stored(server, one)
    path = server.admin.path_of(one.object, one.command.subresource)
    if stored := one.object.get("status", {}).get("storedVersions"):
        server.admin.patch(f"{server.admin.path_of(one.object)}/status", {"status": {"storedVersions": stored}})
    if one.command.subresource == "status" and one.definition and one.object.get("status"):
        server.load_documents([_lenient(one.definition)])  # a condition of older days lacks what is required today
        server.admin.patch(f"{server.admin.path_of(one.object)}/status", {"status": _dated(one.object["status"])})
        server.load_documents([one.definition])
    try:
        assert one.command.patch is not None
        server.admin.patch(path, one.command.patch, how=one.command.how, dryRun="All")
    except RefusedError as wrong:
        return str(wrong)
    return ""


def _dated(status: Document) -> Document:
    """The status with a time in each condition, which no server leaves out."""
    conditions = [{"lastTransitionTime": "2026-09-28T10:00:00Z"} | one for one in status.get("conditions", [])]
    return status | {"conditions": conditions}


def _stored(server: ApiServer, one: Patching) -> None:
    """Puts the object there, as of older days where today's schema would not let it in any more."""
    try:
        server.admin.create(without_rules(one.object))
    except RefusedError as wrong:
        if wrong.status != 422 or one.definition is None:
            raise
        server.load_documents([_lenient(one.definition)])
        server.admin.create(without_rules(one.object))
        server.load_documents([one.definition])


def _lenient(definition: Document) -> Document:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    versions = [{**one, "schema": schema} for one in definition["spec"]["versions"]]
    return {**definition, "spec": {**definition["spec"], "versions": versions}}


def test_a_real_server_takes_every_patch(apiserver: ApiServer) -> None:
    every = patchings()
    assert len(every) >= 25
    refused = [f"{wrong}: {one.command} of {one.advice}" for one in every if (wrong := _tried(apiserver, one))]
    assert not refused, "\n\n".join(refused)


def test_the_server_refuses_a_patch_that_does_not_fit(apiserver: ApiServer) -> None:
    one = next(one for one in patchings() if one.command.how == "merge" and one.object["kind"] == "NodePool")
    broken = one._replace(command=one.command._replace(patch={"spec": {"limits": "many"}}))
    assert "422" in _tried(apiserver, broken)
