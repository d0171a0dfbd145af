"""Which objects of Flux and Argo CD deliver Karpenter.

The name or the spec of such an object names Karpenter somewhere. Charts of other programs name it too, where their pods
are scheduled: a node selector such as karpenter.sh/nodepool, or the annotation karpenter.sh/do-not-disrupt. So does
whatever waits for Karpenter to be there.
"""

import re
from collections.abc import Iterator
from typing import Final

from migrations_app.errors import InvalidInput
from migrations_app.inventory.objects.karpenter import GitOpsDelivery
from migrations_app.manifests.writer import Plain
from migrations_app.manifests.yaml_reader import MANIFESTS, read_documents

_WORD: Final = "karpenter"
_SCHEDULING: Final = frozenset({"nodeSelector", "affinity", "tolerations", "topologySpreadConstraints"})
_WAITING: Final = "dependsOn"
_MARKS: Final = ("annotations", "labels")
"""The ends of the names of fields that hold labels or annotations, such as podAnnotations."""
_MARK: Final = re.compile(r"karpenter\.(sh|k8s\.aws)/(?!v\d)[\w.-]+", re.ASCII)
_MAX_LEVELS: Final = 3
"""Texts that hold YAML are read this deep: values of a chart may hold manifests."""


def delivers_karpenter(delivery: GitOpsDelivery) -> bool:
    """Whether the object delivers Karpenter; True if it names Karpenter for a reason that is not known."""
    return _WORD in delivery.name or any(_mentions(delivery.spec))


def _mentions(value: Plain, *, is_marks: bool = False, levels: int = _MAX_LEVELS) -> Iterator[bool]:
    """True for each place in the value that names Karpenter as what is delivered."""
    if isinstance(value, dict):
        for key, inner in value.items():
            name = str(key)
            if name in _SCHEDULING or name == _WAITING:
                continue
            yield _WORD in name and not (is_marks and _MARK.fullmatch(name))
            yield from _mentions(inner, is_marks=name.lower().endswith(_MARKS), levels=levels)
    elif isinstance(value, list):
        for inner in value:
            yield from _mentions(inner, levels=levels)
    elif isinstance(value, str) and _WORD in value:
        yield from _mentions_of_text(value, levels=levels)


def _mentions_of_text(text: str, *, levels: int) -> Iterator[bool]:
    documents = _documents(text) if "\n" in text and levels else None
    if documents is None:
        yield True
        return
    for document in documents:
        yield from _mentions(document, levels=levels - 1)


def _documents(text: str) -> list[Plain] | None:
    """The maps and lists that the text holds as YAML; None if it is something else."""
    try:
        documents = list(read_documents(text.encode(), limits=MANIFESTS))
    except (InvalidInput, UnicodeEncodeError):
        return None
    return documents if all(isinstance(document, dict | list) for document in documents) else None
