"""One cluster story: what a scan of it would read, and what an operator who knows Karpenter would say about it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from migrations_app.samples.aws_account import Account
from migrations_app.samples.kube import Doc


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """The operator's answer. `verdicts` are by hop, in the order of the road, the landed one first; `blockers` names
    the checks that are open blockers at the next hop."""

    stage: str
    verdicts: Mapping[str, str] = field(default_factory=dict)
    blockers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """`docs` are the objects of the cluster; `refused` maps plurals that could not be listed to code and detail.

    `aws` is the account it lies in; None where nobody gave access to it.
    """

    name: str
    title: str
    about: str
    version: Doc
    docs: tuple[Doc, ...]
    expected: Expected
    refused: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    aws: Account | None = None
