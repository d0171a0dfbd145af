"""Runs lines of shell where every program is a function that notes its words: nothing of the machine is reached."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

PROGRAMS = ("kubectl", "helm", "aws", "flux", "argocd", "terraform", "karpdash", "grep", "sed", "cat", "touch")
CANARY = "pwned"
"""A file of that name beside the scripts shows that a text was run as a command."""


def run(scripts: Mapping[str, str], home: Path) -> dict[str, list[str]]:
    """The words that each script gave to programs. A script that left the canary has the one word CANARY."""
    functions = "\n".join(f'{name}() {{ printf "%s\\0" {name} "$@" >> "$LOG"; }}' for name in PROGRAMS)
    lines = ["command_not_found_handle() { :; }", functions]
    folders = {}
    for number, (name, text) in enumerate(scripts.items()):
        folder = home / f"{number}"
        folder.mkdir(parents=True)
        (folder / "script").write_text(text + "\n", encoding="utf-8", errors="surrogatepass")
        folders[name] = folder
        lines.append(f"(cd {folder} && LOG={folder}/log && . ./script) </dev/null >/dev/null 2>&1")
    main = home / "main.sh"
    main.write_text("\n".join(lines) + "\n", encoding="utf-8")
    environment = {"PATH": str(home / "no-programs"), "HOME": str(home), "LC_ALL": "C.UTF-8"}
    bash = next(one for one in ("/bin/bash", "/usr/bin/bash") if os.access(one, os.X_OK))
    subprocess.run([bash, "--norc", "--noprofile", str(main)], env=environment, cwd=home, check=False, timeout=300)
    return {name: _words(folder) for name, folder in folders.items()}


def _words(folder: Path) -> list[str]:
    if (folder / CANARY).exists():
        return [CANARY]
    log = folder / "log"
    return log.read_bytes().decode("utf-8", "surrogateescape").split("\0")[:-1] if log.exists() else []


def is_shell(text: str) -> bool:
    """Whether the text is lines of shell: comments and programs, not YAML, JSON or Terraform."""
    first = next((line for line in text.splitlines() if line.strip() and not line.startswith("#")), "")
    return not first or first.split()[0] in (*PROGRAMS, "for")
