"""How a single fault is planted into a clean cluster, and what is expected to be said about it."""

import base64
import copy
import gzip
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

Document = dict[str, Any]
Plant = Callable[[list[Document]], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """`check` names `kind` `object` at `path`; `beside` are other blockers and warnings that are right to appear.

    `open` are questions that the fault leaves open. `of` is the change or pain it stands for. `hop`: where the fault is
    looked for, if not at the next one. `status` is "manual" where the cluster shows only half of it: then the object is
    named in the summary.
    """

    of: str
    on: str
    plant: Plant
    check: str
    kind: str
    object: str
    path: str = ""
    namespace: str = ""
    beside: tuple[str, ...] = ()
    open: tuple[str, ...] = ()
    hop: str = ""
    status: str = "fail"
    kubernetes: str = ""

    @property
    def name(self) -> str:
        return f"{self.on}/{self.of}/{self.check}"


def every(documents: list[Document], kind: str, name: str = "", *, namespace: str = "") -> list[Document]:
    """The objects of a kind; those of that name where one is given. Raises LookupError where there is none."""
    found = [
        one
        for one in documents
        if one["kind"] == kind
        and name in ("", one["metadata"]["name"])
        and namespace in ("", one["metadata"].get("namespace"))
    ]
    if not found:
        raise LookupError(f"no {kind} {name}")
    return found


def one(documents: list[Document], kind: str, name: str = "", *, namespace: str = "") -> Document:
    return every(documents, kind, name, namespace=namespace)[0]


def _holder(found: Any, path: str) -> tuple[Any, str]:
    """What holds the last step of a path; steps are parted by slashes, a tilde is one within a step."""
    *steps, last = (step.replace("~", "/") for step in path.split("/"))
    for step in steps:
        found = found[int(step)] if isinstance(found, list) else found.setdefault(step, {})
    return found, last


def put(kind: str, name: str, path: str, value: Any) -> Plant:
    """Writes a value into every object of that name; "" is every object of the kind."""

    def plant(documents: list[Document]) -> None:
        for found in every(documents, kind, name):
            holder, last = _holder(found, path)
            holder[int(last) if isinstance(holder, list) else last] = copy.deepcopy(value)

    return plant


def cut(kind: str, name: str, path: str) -> Plant:
    """Takes a field out of every object of that name."""

    def plant(documents: list[Document]) -> None:
        for found in every(documents, kind, name):
            holder, last = _holder(found, path)
            del holder[int(last) if isinstance(holder, list) else last]

    return plant


def without(kind: str, name: str = "") -> Plant:
    """Takes the objects away."""

    def plant(documents: list[Document]) -> None:
        for found in every(documents, kind, name):
            documents.remove(found)

    return plant


def add(*made: Document) -> Plant:
    return lambda documents: documents.extend(copy.deepcopy(list(made)))


def all_of(*plants: Plant) -> Plant:
    def plant(documents: list[Document]) -> None:
        for each in plants:
            each(documents)

    return plant


def first(kind: str, path: str, value: Any) -> Plant:
    """Writes a value into the first object of the kind."""

    def plant(documents: list[Document]) -> None:
        holder, last = _holder(one(documents, kind), path)
        holder[last] = copy.deepcopy(value)

    return plant


def variable(name: str, value: str | None) -> Plant:
    """A variable of the controller; None takes it away."""

    def plant(documents: list[Document]) -> None:
        container = one(documents, "Deployment", "karpenter")["spec"]["template"]["spec"]["containers"][0]
        container["env"] = [each for each in container["env"] if each["name"] != name]
        container["env"] += [{"name": name, "value": value}] if value is not None else []

    return plant


def helm_values(given: Document, *, chart: str = "karpenter") -> Plant:
    """Lays values over those that Helm's record of that chart holds; None takes one away."""

    def plant(documents: list[Document]) -> None:
        secret = one(documents, "Secret", f"sh.helm.release.v1.{chart}.v3")
        packed = base64.b64decode(base64.b64decode(secret["data"]["release"]))
        body = json.loads(gzip.decompress(packed))
        _lay(body["config"], given)
        told = base64.b64encode(gzip.compress(json.dumps(body).encode(), mtime=0))
        secret["data"]["release"] = base64.b64encode(told).decode()

    return plant


def _lay(under: Document, over: Document) -> None:
    for key, value in over.items():
        if isinstance(value, dict) and isinstance(under.get(key), dict):
            _lay(under[key], value)
        elif value is None:
            under.pop(key, None)
        else:
            under[key] = value


def running(version: str, *, tag: str = "") -> Plant:
    """The controller and its charts are of another patch."""

    def plant(documents: list[Document]) -> None:
        deployment = one(documents, "Deployment", "karpenter")
        old = deployment["metadata"]["labels"]["app.kubernetes.io/version"]
        for found in documents:
            labels = found["metadata"].get("labels", {})
            if labels.get("app.kubernetes.io/version") == old and labels.get("helm.sh/chart"):
                labels["app.kubernetes.io/version"] = version
                labels["helm.sh/chart"] = labels["helm.sh/chart"].replace(old, version)
        for found in [deployment, *every(documents, "Pod")]:
            spec = found["spec"].get("template", found)["spec"]
            for container in spec["containers"]:
                if "karpenter/controller" in container["image"]:
                    container["image"] = container["image"].replace(old, version)
        for chart in ("karpenter", "karpenter-crd"):
            _rewrite(one(documents, "Secret", f"sh.helm.release.v1.{chart}.v3"), old, version)

    return plant


def _rewrite(secret: Document, old: str, new: str) -> None:
    body = gzip.decompress(base64.b64decode(base64.b64decode(secret["data"]["release"]))).decode()
    told = base64.b64encode(gzip.compress(body.replace(old, new).encode(), mtime=0))
    secret["data"]["release"] = base64.b64encode(told).decode()


def template_of(kind: str, name: str, path: str, value: Any) -> Plant:
    """Writes into the pod template of a workload and into its pods."""

    def plant(documents: list[Document]) -> None:
        put(kind, name, f"spec/template/{path}", value)(documents)
        for pod in every(documents, "Pod"):
            owner = pod["metadata"].get("ownerReferences", [{"name": ""}])[0]["name"]
            if owner == name or owner.rpartition("-")[0] == name:
                holder, last = _holder(pod, path)
                held = value
                if last == "tolerations":
                    held = [*value, *holder.get("tolerations", ())]
                holder[last] = copy.deepcopy(held)

    return plant


def names(faults: Iterable[Fault]) -> list[str]:
    return [fault.name for fault in faults]
