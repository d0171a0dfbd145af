"""Finds files that are installed with the program: templates, static files, docs, ClusterRoles and the Helm
chart.

In a wheel they are inside this package, in a checkout beside it.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
CHECKOUT = _PACKAGE.parent
SHIPPED = _PACKAGE / "shipped"
"""Exists only where karpdash was installed from a wheel."""
SHOWN_PATHS = {
    "docs": "docs",
    "cli": "docs/cli.md",
    "rbac": "deploy/rbac",
    "chart": "deploy/helm/karpdash",
    "agent-chart": "deploy/helm/karpdash-agent",
    "monitoring": "deploy/prometheus",
}
"""The names that `karpdash files` prints, each with its path."""


def folder(name: str) -> Path:
    """Returns the path of a folder or file of the program, such as `templates` or `deploy/rbac`."""
    return (SHIPPED if SHIPPED.is_dir() else CHECKOUT) / name


def data_folder(environ: Mapping[str, str], *, platform: str = sys.platform) -> Path:
    """Returns where data is stored if no folder is set: `var` of a checkout, otherwise the platform's data folder. The
    path is relative to the working directory only if the environment names no home.
    """
    if not SHIPPED.is_dir():
        return CHECKOUT / "var"
    return platform_folder(environ, platform=platform)


def platform_folder(environ: Mapping[str, str], *, platform: str) -> Path:
    """Returns the folder for data of applications of this user, by the convention of Linux, macOS or Windows."""
    home = Path(environ.get("HOME") or environ.get("USERPROFILE") or "")
    if platform == "win32":
        return Path(environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / "karpdash"
    if platform == "darwin":
        return home / "Library" / "Application Support" / "karpdash"
    data_home = environ.get("XDG_DATA_HOME", "")
    # The XDG Base Directory Specification says that a relative path in this variable is ignored.
    return (Path(data_home) if Path(data_home).is_absolute() else home / ".local" / "share") / "karpdash"


def make_parser() -> argparse.ArgumentParser:
    """The options of the command."""
    parser = argparse.ArgumentParser(
        prog="karpdash files", description="Print where the docs, the ClusterRoles and the Helm charts of karpdash are."
    )
    parser.add_argument("name", nargs="?", choices=tuple(SHOWN_PATHS), help="print the path of this one only")
    return parser


def run(argv: Sequence[str]) -> int:
    """`karpdash files`: returns 0 after printing one path, or all paths with their names."""
    name = make_parser().parse_args(argv).name
    if name:
        print(folder(SHOWN_PATHS[name]))
        return 0
    for label, path in SHOWN_PATHS.items():
        print(f"{label:<12}{folder(path)}")
    return 0
