"""Puts what lies beside the packages into the wheel: templates, static files, docs and deployment files.

Everything else stands in pyproject.toml. An editable installation uses the folders where they are.
"""

from pathlib import Path
from shutil import copytree, rmtree

from setuptools import setup
from setuptools.command.build_py import build_py

FOLDERS = ("templates", "static", "docs", "deploy")


class BuildWithFolders(build_py):
    """Copies the folders to `karpdash/shipped` of what is built; `karpdash.files` finds them there."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:
            return
        for name in FOLDERS:
            target = Path(self.build_lib, "karpdash", "shipped", name)
            rmtree(target, ignore_errors=True)
            copytree(name, target)


setup(cmdclass={"build_py": BuildWithFolders})
