"""The row type of needs.py."""

from dataclasses import dataclass

from migrations_app.iam.requirements.features import ALWAYS, Span

OPERATOR = "v1.14.1:pkg/operator/operator.go"


@dataclass(frozen=True, kw_only=True)
class Need:
    """One action in a span of releases. `existing` distinguishes tagging running instances from tagging at creation."""

    action: str
    span: Span = ALWAYS
    effect: str
    log: str = ""
    existing: bool = False
    source: str = OPERATOR
