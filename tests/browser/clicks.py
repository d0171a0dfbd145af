"""Counts the clicks of one task of a newcomer."""

from dataclasses import dataclass, field

from playwright.sync_api import Locator, Page


@dataclass
class Clicks:
    """The clicks made on one page so far."""

    page: Page
    made: list[str] = field(default_factory=list)

    def on(self, place: Locator) -> None:
        self.made.append(str(place))
        place.first.click()


def link(page: Page, name: str) -> Locator:
    return page.get_by_role("link", name=name)
