"""Reads Helm's release records in the namespaces where Karpenter may be installed."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from msgspec.structs import replace

from migrations_app.clients.helm.records import FAILED, PENDING, UNINSTALLED
from migrations_app.clients.helm.releases import read_release
from migrations_app.clients.kubernetes.api import ListPage
from migrations_app.collect.reading import Parts, Reading
from migrations_app.errors import Forbidden, ReadError
from migrations_app.inventory.objects.karpenter import HelmRelease
from migrations_app.inventory.parts import Seen, UnparsableObject
from migrations_app.karpenter import kinds


@dataclass(slots=True)
class _ReleaseSearch:
    home: str
    releases: list[HelmRelease] = field(default_factory=list)
    bad: list[UnparsableObject] = field(default_factory=list)

    def take(self, page: ListPage) -> None:
        for item in page.items:
            release = read_release(bytes(item), home=self.home)
            if isinstance(release, UnparsableObject):
                self.bad.append(release)
            elif release is not None:
                self.releases.append(release)


def helm_releases(reading: Reading) -> Parts:
    """The releases in the readable namespaces.

    Raises Forbidden if every namespace is forbidden. A single forbidden namespace is set aside by name, so that no
    check takes a missing release for an absent one.
    """
    searches: list[_ReleaseSearch] = []
    refused: list[tuple[str, ReadError]] = []
    for home in reading.karpenter_namespaces:
        try:
            searches.append(_in(reading, home))
        except Forbidden as reason:
            refused.append((home, reason))
    if not searches:
        raise refused[0][1]
    releases = [release for each in searches for release in each.releases]
    bad = [unparsable for each in searches for unparsable in each.bad]
    return {"helm_releases": Seen(tuple(_newest(releases)), "v1", (*map(_set_aside, refused), *bad))}


def _in(reading: Reading, home: str) -> _ReleaseSearch:
    search = _ReleaseSearch(home)

    def begin() -> Callable[[ListPage], None]:
        search.releases.clear()
        search.bad.clear()
        return search.take

    # Records are up to 1 MB each; other Secrets are never requested.
    reading.each_page(reading.resource(kinds.SECRET, namespace=home, label_selector="owner=helm", page_size=20), begin)
    return search


def _set_aside(refused: tuple[str, ReadError]) -> UnparsableObject:
    home, reason = refused
    return UnparsableObject("HelmRelease", home, f"every record of the namespace {home}", "$", reason.code, reason.code)


def _newest(releases: list[HelmRelease]) -> Iterator[HelmRelease]:
    """The deployed revision of each release; the newest one if none is deployed. What Helm is in the middle of, and
    whether its last run failed, is told by the newest revision alone. After a failure the values are those of the
    newest revision, too: `helm get values` prints them, so the next upgrade is given them. A release that was
    uninstalled and keeps its history is none.
    """
    by_name: dict[tuple[str, str], HelmRelease] = {}
    last: dict[tuple[str, str], HelmRelease] = {}
    for release in sorted(releases, key=lambda r: (r.status == "deployed", r.revision)):
        by_name[release.namespace, release.name] = release
    for release in sorted(releases, key=lambda r: r.revision):
        last[release.namespace, release.name] = release
    for key, release in by_name.items():
        newest = last[key]
        if newest.status in PENDING:
            yield replace(release, unfinished=newest.status)
        elif newest.status == FAILED:
            yield replace(release, unfinished=newest.status, config=newest.config)
        elif newest.status != UNINSTALLED:
            yield release
