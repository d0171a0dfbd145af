"""Plays one sequence on one side: names, uids and versions are that side's own."""

import copy
from typing import Any

from migrations_app.twin.answers import Answer
from tests.twin.both import Ask
from tests.twin.sequences import APPLY, BETA, KINDS, MERGE, NAMES, Step, path_of

Tree = dict[str, Any]
NAMESPACE = "default"


class Player:
    """One side under one run; objects of other runs have other names and labels."""

    def __init__(self, ask: Ask, run: str) -> None:
        self._ask, self._run = ask, run

    def play(self, step: Step) -> Answer:
        name = self._named(step.name) if step.name else ""
        body = self._body(step, name)
        query = dict(step.query)
        if "labelSelector" in query:
            query["labelSelector"] = query["labelSelector"].replace("run", f"run={self._run}", 1)
        path = path_of(step, name, namespace=NAMESPACE)
        return self._ask(step.method, path, query=query, body=body, content_type=step.content_type)

    def ends(self, steps: list[Step]) -> list[Answer]:
        """Every object that the steps named, as it is left."""
        named = dict.fromkeys((step.plural, step.name) for step in steps if step.name in NAMES)
        return [self.play(Step(method="GET", plural=plural, name=name)) for plural, name in named]

    def _named(self, name: str) -> str:
        return f"{self._run}-{name}"

    def _body(self, step: Step, name: str) -> Any:
        if not isinstance(step.body, dict) or "op" in step.body:
            return step.body
        body = copy.deepcopy(step.body)
        if step.method == "DELETE":
            return body | self._preconditions(step)
        metadata = body.setdefault("metadata", {})
        if step.content_type != MERGE:
            metadata["name"] = name
        if step.subresource in ("eviction", "binding"):
            return body | ({"deleteOptions": self._preconditions(step)} if step.subresource == "eviction" else {})
        if step.content_type != MERGE:
            version, kind, _ = KINDS[step.plural]
            body |= {"apiVersion": BETA[step.plural] if step.beta else version, "kind": kind}
        if step.content_type not in (MERGE, APPLY):
            metadata.setdefault("labels", {})["run"] = self._run
        if step.plural == "poddisruptionbudgets" and step.method == "POST":
            body["spec"] = body["spec"] | {"selector": {"matchLabels": {"run": self._run, "tier": "x"}}}
        if step.owner:
            metadata["ownerReferences"] = [self._owner(*step.owner)]
        metadata |= self._tie(step)
        return body

    def _known(self, plural: str, name: str) -> Tree:
        answer = self.play(Step(method="GET", plural=plural, name=name))
        return answer.document["metadata"] if answer.status == 200 else {}

    def _tie(self, step: Step) -> Tree:
        what, _, how = step.tie.partition(" ")
        if not what:
            return {}
        key = {"uid": "uid", "version": "resourceVersion"}[what]
        if how == "wrong":
            return {key: "0e0e" if what == "uid" else "1"}
        return {key: value} if (value := self._known(step.plural, step.name).get(key)) else {}

    def _preconditions(self, step: Step) -> Tree:
        told = self._tie(step)
        return {"preconditions": told} if told else {}

    def _owner(self, plural: str, name: str) -> Tree:
        version, kind, _ = KINDS[plural]
        uid = self._known(plural, name).get("uid", "gone")
        return {"apiVersion": version, "kind": kind, "name": self._named(name), "uid": uid}
