"""One change of each kind, with the same text for every name, key and value that a cluster or a person may choose."""

from collections.abc import Mapping

from migrations_app.checks.changes import (
    AwsCall,
    Change,
    ChangeTarget,
    DeliveryPause,
    DeliveryResume,
    HelmChange,
    HelmValue,
    IamStatements,
    KarpdashAction,
    NodeTaint,
    ObjectAnnotations,
    ObjectApply,
    ObjectDelete,
    ObjectLabels,
    ObjectPatch,
    Observation,
    PersonTask,
    QueryRename,
    group,
)

ROLE = "arn:aws:iam::111122223333:role/karpenter"


def every_change(text: str) -> Mapping[str, Change]:
    """By a name of its own each kind of change, with that text in every field that takes any."""
    at = ChangeTarget("NodePool", text, text, resource="nodepools.karpenter.sh")
    node, bare = ChangeTarget("Node", text, resource="node"), ChangeTarget("NodePool", text)
    said = {"what": text, "notes": (text, f"see {text}")}
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": text}, "data": {text: text}}
    values = (HelmValue(f"settings.{text}", '"x"', text), HelmValue("old", "", text))
    statement = {"Effect": "Allow", "Action": "ec2:*", "Resource": text, "Sid": text}
    found: dict[str, Change] = {
        "helm": HelmChange(chart="karpenter", release=text, namespace=text, when="before", why=text, values=values),
        "merge": ObjectPatch(target=at, body={text: {text: [text]}}, **said),
        "json": ObjectPatch(target=bare, body=({"op": "add", "path": text, "value": text},), **said),
        "apply": ObjectApply(manifest=manifest, **said),
        "delete": ObjectDelete(target=at, propagation="orphan", **said),
        "labels": ObjectLabels(target=at, given={text: text}, removed=(text,), **said),
        "annotations": ObjectAnnotations(target=bare, given={text: text}, removed=(text,), **said),
        "taint": NodeTaint(target=node, key=text, value=text, effect=text, **said),
        "untaint": NodeTaint(target=node, key=text, removed=True, **said),
        "rename": QueryRename(target=at, names={text: text, "karpenter_old": "karpenter_new"}, **said),
        "person": PersonTask(target=at, why=text, where=text, **said),
        "person in AWS": PersonTask(why=text, where=text, aws=True, **said),
        "observe": Observation(pipe=(("kubectl", "get", text), ("grep", text)), into=text, **said),
        "observe AWS": Observation(pipe=(("aws", "iam", text),), **said),
        "iam": IamStatements(role=ROLE, policy=text, statements=(statement,), **said),
        "iam removed": IamStatements(role=ROLE, policy=text, statements=(statement,), removed=True, **said),
        "iam inside": IamStatements(role=ROLE, policy=text, statements=(statement,), inline=True, **said),
        "iam unnamed": IamStatements(role="", policy=text, statements=(statement,), **said),
        "aws": AwsCall(service="sqs", operation="create-queue", words=("--name", text), **said),
        "action": KarpdashAction(action="convert_and_apply", choices={text: text}, **said),
    }
    for kind in ("HelmRelease", "Kustomization", "Application"):
        found[f"pause {kind}"] = DeliveryPause(target=ChangeTarget(kind, text, text), **said)
        found[f"resume {kind}"] = DeliveryResume(target=ChangeTarget(kind, text, text), prune=True, **said)
    alike = ("merge", "delete", "labels", "untaint", "person", "observe")
    found["group"] = group(*(found[one] for one in alike for _ in "ab"), **said)
    return found
