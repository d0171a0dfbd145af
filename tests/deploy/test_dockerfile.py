"""The Dockerfile: nothing for the linter, everything with its hash, nobody as root, and no more than the product."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings

from tests.deploy import compose
from tests.deploy.image import copied
from tests.deploy.test_compose import SECRETS

ROOT = compose.ROOT
TEXT = (ROOT / "Dockerfile").read_text()
HADOLINT = Path(sys.executable).with_name("hadolint")


def lines(instruction):
    joined = TEXT.replace("\\\n", " ")
    return [line.partition(" ")[2] for line in joined.splitlines() if line.startswith(f"{instruction} ")]


def linted(path):
    done = subprocess.run(
        [HADOLINT, "--no-color", "--format", "json", str(path)], capture_output=True, text=True, check=False
    )
    return [row["code"] for row in json.loads(done.stdout)]


def test_the_linter_finds_nothing():
    assert linted(ROOT / "Dockerfile") == []


def test_the_linter_works(tmp_path):
    (tmp_path / "Dockerfile").write_text("FROM python:latest\nRUN cd / && pip install django\n")
    assert "DL3007" in linted(tmp_path / "Dockerfile")


def test_every_package_is_pinned_by_its_hash():  # T30
    locked = (ROOT / "locks" / "run.txt").read_text()
    names = re.findall(r"^([a-z0-9][^ =]*)==", locked, re.M)
    blocks = re.split(r"^(?=[a-z0-9])", locked, flags=re.M)
    assert (len(names) > 40, all("--hash=sha256:" in block for block in blocks if block.strip())) == (True, True)
    assert "--require-hashes --no-deps -r locks/run.txt" in TEXT


def test_nobody_is_root_and_the_last_stage_brings_no_builder():
    assert (lines("USER"), len(lines("FROM"))) == (["10001:10001"], 2)
    last = TEXT[TEXT.rindex("\nFROM ") :]
    assert ("pip install" in last, "apt-get" in TEXT, "curl" in TEXT) == (False, False, False)


def test_no_host_is_named_but_by_the_images():
    assert re.findall(r"https?://|--index-url|--extra-index-url|--find-links|ADD ", TEXT) == []
    assert {line.split()[0] for line in lines("FROM")} == {"python:3.11-slim-bookworm"}


def test_what_it_copies_is_let_through_to_the_builder():
    """.dockerignore leaves out everything but what is copied, and the copied is there."""
    let = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    assert (let, [name for name in copied() if not (ROOT / name).exists()]) == (copied(), [])


def test_what_the_settings_read_from_the_checkout_is_in_the_image():
    read = [*settings.TEMPLATES[0]["DIRS"], *settings.STATICFILES_DIRS, settings.GLOSSARY, settings.OPENAPI]
    assert {str(Path(path).relative_to(ROOT)) for path in read} - copied() == set()


@pytest.mark.parametrize("part", ["user", "command"])
def test_compose_runs_what_the_image_says(part):
    web = compose.services(SECRETS)["web"]
    said = {"user": lines("USER")[0], "command": json.loads(lines("CMD")[0])}
    assert web[part] == said[part]
