"""Uids of the objects of a sample cluster: no two objects of one cluster have the same, nor have two clusters."""

from collections.abc import Iterable, Iterator

from migrations_app.samples.kubernetes_objects import Doc, uid_of


def with_own_uids(cluster: str, docs: Iterable[Doc]) -> Iterator[Doc]:
    """The objects with uids made of cluster, kind, namespace and name; owner references follow.

    The builders make uids of names alone: a budget has that of its workload, and every cluster the same kube-system.
    """
    every = tuple(docs)
    there = {(one["kind"], one["metadata"].get("namespace", ""), one["metadata"]["name"]) for one in every}
    for one in every:
        metadata = one["metadata"]
        home = metadata.get("namespace", "")
        own: Doc = {"uid": uid_of(cluster, one["kind"], home, metadata["name"])}
        if references := metadata.get("ownerReferences"):
            own["ownerReferences"] = [_reference(cluster, each, home=home, there=there) for each in references]
        yield one | {"metadata": metadata | own}


def _reference(cluster: str, given: Doc, *, home: str, there: set[tuple[str, str, str]]) -> Doc:
    """The reference with the uid of that owner: an object without a namespace, or one in that of the dependent."""
    kind, name = given["kind"], given["name"]
    return given | {"uid": uid_of(cluster, kind, "" if (kind, "", name) in there else home, name)}
