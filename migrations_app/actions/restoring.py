"""An object as it was read -> the manifest that brings it back, without what only the server writes."""

from migrations_app.actions.conditions import Tree

LEFT_OUT = (
    "managedFields",
    "resourceVersion",
    "uid",
    "generation",
    "creationTimestamp",
    "selfLink",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
)
"""Of the metadata: what only the server writes, and refuses or ignores when an object is put back."""
SECRET = ("data", "stringData")


def restorable(read: Tree) -> Tree:
    """The object as a manifest that can be applied again; the values of a Secret are not in it."""
    metadata = {key: value for key, value in (read.get("metadata") or {}).items() if key not in LEFT_OUT}
    kept: Tree = {key: value for key, value in read.items() if key != "status"} | {"metadata": metadata}
    if read.get("kind") == "Secret":
        kept = {key: value for key, value in kept.items() if key not in SECRET}
    return kept
