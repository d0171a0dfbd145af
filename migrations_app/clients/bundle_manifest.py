"""manifest.json of a bundle: what was asked for, what could not be seen and why.

Without it, a dump that holds Nodes and Pods counts as a dump of the whole cluster. With `whole` it counts as one too,
and `asked` then lists the exceptions.
"""

import msgspec

from migrations_app import errors
from migrations_app.clients.port import Resource
from migrations_app.errors import BadBundle, CouldNotLook
from migrations_app.inventory.objects import ServedResource

NAME = "manifest.json"
SCHEMA = "karpdash/bundle/v1"


class AskedPart(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One list: `why` is the code of the errors.CouldNotLook when it was not seen."""

    group: str
    plural: str
    version: str = ""
    namespace: str = ""
    label_selector: str = ""
    field_selector: str = ""
    seen: bool = True
    why: str = ""
    detail: str = ""
    count: int = 0

    def covers(self, resource: Resource) -> bool:
        """Whether the answer to that list can be told from this one."""
        return (self.group, self.plural) == (resource.group, resource.plural) and all(
            mine in ("", wanted)
            for mine, wanted in (
                (self.namespace, resource.namespace),
                (self.label_selector, resource.label_selector),
                (self.field_selector, resource.field_selector),
            )
        )


class Manifest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    schema: str
    made_at: str = ""
    made_by: str = ""
    whole: bool = False
    asked: list[AskedPart] = []
    served: list[ServedResource] | None = None
    failed: dict[str, str] = {}

    def part(self, resource: Resource) -> AskedPart | None:
        """The list that tells about this one: a seen one before an unseen one."""
        found = sorted((part for part in self.asked if part.covers(resource)), key=lambda part: not part.seen)
        return found[0] if found else None


def read_manifest(body: bytes) -> Manifest:
    """Raises BadBundle with code `bad_manifest_file`."""
    try:
        found = msgspec.json.decode(body, type=Manifest)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as wrong:
        raise BadBundle(f"not a bundle's manifest: {str(wrong)[:200]}", code="bad_manifest_file", where=NAME) from None
    if found.schema != SCHEMA:
        raise BadBundle(
            f"made for another release of karpdash: {SCHEMA} is read here", code="bad_manifest_file", where=NAME
        )
    return found


def unseen(part: AskedPart) -> CouldNotLook:
    """The error that kept the bundle's maker from seeing this."""
    kinds = [getattr(errors, name) for name in dir(errors) if not name.startswith("_")]
    known = {kind.code: kind for kind in kinds if isinstance(kind, type) and issubclass(kind, CouldNotLook)}
    detail = part.detail[:500] or "could not be read when the bundle was made"
    return known.get(part.why, CouldNotLook)(detail, code=part.why[:60] or "could_not_look")
