"""What is recorded about one label, annotation, taint, finalizer or EC2 tag."""

from dataclasses import dataclass
from typing import Literal

from migrations_app.karpenter.versions import Release, minor_order

KeyKind = Literal["label", "annotation", "taint", "finalizer", "tag"]
KeyGeneration = Literal["alpha", "beta", "v1"]

ALL: tuple[KeyGeneration, ...] = ("alpha", "beta", "v1")
NODE_PROPERTY = ("Node", "requirements", "Pod selectors")
V1_KEYS = "aws/karpenter-provider-aws@v1.14.1:pkg/apis/v1/labels.go"


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelRow:
    """One key in one role; the same text may be a label and a tag. No generations: not a key of Karpenter's.

    `first_seen` names the first release of each branch that has it; empty where it is older than the tables or not
    bound to a release. `last_seen` is the last minor in which it has an effect; empty while it has one.
    """

    key: str
    kind: KeyKind
    generations: tuple[KeyGeneration, ...]
    first_seen: tuple[str, ...] = ()
    last_seen: str = ""
    objects: tuple[str, ...]
    set_by: str
    values: tuple[str, ...] = ()
    replacement: str = ""
    note: str = ""
    source: str

    def retired_in(self, running: Release) -> bool:
        """Whether that release no longer heeds the key."""
        return bool(self.last_seen) and minor_order(running.minor) > minor_order(self.last_seen)
