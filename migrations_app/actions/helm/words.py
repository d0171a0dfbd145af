"""A run of helm in words, and as the command with the same effect."""

import shlex

from migrations_app.actions.changes import Change
from migrations_app.actions.helm.request import HelmRun, run_of


def told_run(change: Change) -> str:
    """Such as `helm rollback of karpenter/karpenter to revision 4`."""
    run = run_of(change.body)
    return f"helm {run.do} of {run.namespace}/{run.release} to {f'revision {run.to}' if run.to else run.version}"


def helm_command(change: Change) -> str:
    """The same by hand, from a reading of the values that the release has. Names and values are quoted."""
    run = run_of(change.body)
    release, home = shlex.quote(run.release), shlex.quote(run.namespace)
    if run.do == "rollback":
        return f"helm rollback {release} {run.to} -n {home} --history-max 0"
    first = f"helm get values {release} -n {home} --revision {run.before} -o yaml > values.yaml"
    return f"{first}\n{_upgrade(run, release=release, home=home)}"


def _upgrade(run: HelmRun, *, release: str, home: str) -> str:
    words = ["helm", "upgrade", release, shlex.quote(run.source or run.chart), "-n", home]
    words += ["--version", shlex.quote(run.version)] if run.source.startswith("oci://") else []
    words += ["--reset-values", "-f", "values.yaml", "--skip-crds", "--history-max", "0"]
    for key, text in run.changes:
        words += ["--set-json", shlex.quote(f"{key}={text or 'null'}")]
    return " ".join(words)
