"""Reports as they are stored: those of today, and those of before."""

import msgspec

from migrations_app.readiness.report import Report


def read_report(text: bytes) -> Report:
    """The report. Older ones hold changes of Helm values only, without a word that says so. Raises
    msgspec.ValidationError for what is no report."""
    try:
        return msgspec.json.decode(text, type=Report)
    except msgspec.ValidationError:
        plain = msgspec.json.decode(text)
    for finding in plain.get("checks", ()) if isinstance(plain, dict) else ():
        for remedy in finding.get("remedies", ()):
            change = remedy.get("change")
            if isinstance(change, dict):
                change.setdefault("type", "helm")
    return msgspec.convert(plain, Report)
