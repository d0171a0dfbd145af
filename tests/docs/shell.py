"""The shell commands of a page, run in a folder of their own against a real API server, with kubectl and helm."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from karpdash.processes import datadir
from tests.servers.apiserver import ApiServer
from tests.servers.processes import environment

ROOT = Path(__file__).parents[2]
# What kubectl of 1.24 and later does by itself; the one at hand is as old as the API server.
_KUBECTL = """#!/bin/sh
case " $* " in
*" create token "*)
    for word; do case "$word" in --duration=*h) hours=${word#--duration=}; hours=${hours%h};; esac; done
    kind='"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{"expirationSeconds":'
    echo "{$kind$((hours * 3600))}}" |
        PROGRAM create --raw /api/v1/namespaces/karpdash/serviceaccounts/karpdash/token -f - |
        sed 's/.*"token":"\\([^"]*\\)".*/\\1/' ;;
*" --show-managed-fields "*)
    # An older one always shows them.
    for word; do shift; [ "$word" = --show-managed-fields ] || set -- "$@" "$word"; done
    exec PROGRAM "$@" ;;
*) exec PROGRAM "$@" ;;
esac
"""
# Unready and unknown are answers of a scan, as its page says; what was typed wrongly is not.
_KARPDASH = """#!/bin/sh
PROGRAM "$@"
code=$?
case "$1 $code" in "scan 1" | "scan 3") exit 0 ;; *) exit $code ;; esac
"""
# A whole `make run` is what tests/installations/test_up.py is about.
_MAKE = f'#!/bin/sh\nexec /usr/bin/make -n -C {ROOT} "$@"\n'


def blocks(page: str) -> list[str]:
    """The blocks of a page that a person is to type in."""
    return re.findall(r"^```sh\n(.*?)^```", (ROOT / page).read_text(), re.M | re.S)


class Shell:
    """A terminal in `folder`, whose kubectl is an administrator of that server."""

    def __init__(self, folder: Path, server: ApiServer, *, programs: dict[str, str]) -> None:
        self.folder = folder
        data = datadir.prepare(folder / "data")
        (folder / "deploy").symlink_to(ROOT / "deploy")
        (folder / "admin.yaml").write_text(server.kubeconfig(server.admin_token))
        shims = folder / "programs"
        shims.mkdir()
        kubectl = _KUBECTL.replace("PROGRAM", programs["kubectl"])
        helm = f'#!/bin/sh\nexec {programs["helm"]} "$@"\n'
        karpdash = _KARPDASH.replace("PROGRAM", str(Path(sys.executable).with_name("karpdash")))
        for name, text in {"kubectl": kubectl, "helm": helm, "make": _MAKE, "karpdash": karpdash}.items():
            (shims / name).write_text(text)
            (shims / name).chmod(0o755)
        path = os.pathsep.join([str(shims), str(Path(sys.executable).parent), os.environ["PATH"]])
        plain = {name: value for name, value in environment().items() if not name.startswith(("KARPDASH_", "DJANGO_"))}
        self.env = plain | {
            "PATH": path, "KUBECONFIG": str(folder / "admin.yaml"), "HOME": str(folder), "NO_COLOR": "1",
            "KARPDASH_DATA_DIR": str(data), "KARPDASH_ALLOW_LOOPBACK": "1", "PYTHONPATH": str(ROOT),
        }  # fmt: skip

    def run(self, script: str, **more: str) -> str:
        """What it prints; fails with it unless every command ends well."""
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script], cwd=self.folder, env=self.env | more,
            capture_output=True, text=True, check=False, timeout=240,
        )  # fmt: skip
        assert done.returncode == 0, f"{script}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
        return done.stdout

    def with_tables(self) -> "Shell":
        """The same, with a database that `make run` would have made."""
        self.run(f"python {ROOT}/manage.py migrate --no-input --verbosity 0")
        return self


def said(shell: Shell, page: str, **more: str) -> Any:
    """Everything of the page, typed in one after the other."""
    return [shell.run(block, **more) for block in blocks(page)]
