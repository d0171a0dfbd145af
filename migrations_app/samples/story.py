"""One cluster story: what a scan of it would read, and what an operator who knows Karpenter would say about it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from migrations_app.samples.kube import Doc


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """The operator's answer. `verdicts` is by hop, in the order of the path; `failing` names the open blockers of the
    first hop."""

    stage: str
    verdicts: Mapping[str, str] = field(default_factory=dict)
    failing: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """`docs` are the objects of the cluster; `refused` maps plurals that the scan may not list to the reason."""

    name: str
    title: str
    about: str
    version: Doc
    docs: tuple[Doc, ...]
    expected: Expected
    refused: Mapping[str, str] = field(default_factory=dict)
