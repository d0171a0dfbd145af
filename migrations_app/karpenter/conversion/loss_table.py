"""The catalogue of findings as a table for the documentation."""

from migrations_app.karpenter.conversion.loss_codes import CATALOGUE
from migrations_app.karpenter.conversion.losses import SEVERITIES


def markdown() -> str:
    """A table of severity, code, reason and source, gravest first."""
    rows = ["| severity | code | why | source |", "|---|---|---|---|"]
    for severity in SEVERITIES:
        rows += [
            f"| {severity} | `{code}` | {entry.why} | {entry.source} |"
            for code, entry in sorted(CATALOGUE.items())
            if entry.severity == severity
        ]
    return "\n".join(rows) + "\n"
