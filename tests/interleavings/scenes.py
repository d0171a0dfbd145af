"""Which rollouts are on the one cluster: for each the verbs of its steps."""

SCENES: dict[str, tuple[tuple[str, ...], ...]] = {
    "patch": (("patch",),),
    "create": (("create",),),
    "delete": (("delete",),),
    "two steps": (("patch", "create"),),
    "two rollouts": (("patch",), ("delete",)),
}
