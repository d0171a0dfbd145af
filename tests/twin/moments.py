"""Twins at a moment: with a clock that stands still or is moved by the test."""

import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from migrations_app.samples.fleet import files
from migrations_app.samples.story import Story
from migrations_app.twin.server import Twin

Tree = dict[str, Any]
NOON = "2026-10-01T12:00:00Z"


@dataclass(slots=True)
class Moment:
    """A clock that shows this moment."""

    shown: datetime

    def __call__(self) -> datetime:
        return self.shown

    def passes(self, seconds: float) -> None:
        self.shown += timedelta(seconds=seconds)


def at(moment: str) -> Moment:
    return Moment(datetime.fromisoformat(moment))


def objects_of(story: Story) -> list[Tree]:
    """The objects of a sample cluster as its bundle holds them, in the order in which an API server lists them."""
    documents = json.loads(files(story)["objects.json"])["items"]
    return sorted(documents, key=lambda one: (one["metadata"].get("namespace", ""), one["metadata"]["name"]))


def twin_of_story(story: Story, clock: Moment) -> Twin:
    """A twin with the objects of a sample cluster."""
    twin = Twin(clock, minor=int(story.version["minor"].rstrip("+")), version=story.version)
    twin.load(objects_of(story))
    return twin
