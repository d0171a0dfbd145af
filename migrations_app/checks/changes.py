"""Changes of Helm values as values: what is set and taken out in which release, why, and when it may happen."""

from collections.abc import Mapping
from typing import Literal

import msgspec

from migrations_app.karpenter.versions import parse

When = Literal["before", "landing", "person"]
"""`before` the landing of the hop, with the `landing` itself, or by a `person` who has to fill something in first."""


class HelmValue(msgspec.Struct, frozen=True):
    """One value of a chart. `key` is a dotted Helm key; `text` is the value as JSON, empty for one to be removed."""

    key: str
    text: str = ""
    why: str = ""


class HelmChange(msgspec.Struct, frozen=True, kw_only=True):
    """What is changed in one Helm release. `version` is the Karpenter release that the chart has to be brought to;
    empty where it stays at what runs then, and where the landing brings it."""

    chart: str
    release: str
    namespace: str
    when: When
    why: str = ""
    version: str = ""
    values: tuple[HelmValue, ...] = ()

    @property
    def given(self) -> Mapping[str, str]:
        """Key to value as JSON, as `yaml_of` takes them."""
        return {one.key: one.text for one in self.values}

    def reaches(self, lands: str) -> bool:
        """Whether it needs the release that a hop lands on, or a later one: the landing itself brings that."""
        asked, landing = parse(self.version), parse(lands)
        return asked is not None and landing is not None and asked >= landing
