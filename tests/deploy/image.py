"""What the image of karpdash holds besides its packages."""

from tests.house.measures import ROOT


def copied() -> set[str]:
    """The files and folders of the checkout that the Dockerfile copies."""
    text = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
    lines = [line.removeprefix("COPY ").split() for line in text.splitlines() if line.startswith("COPY ")]
    return {word for line in lines if not line[0].startswith("--from") for word in line[:-1]}
