"""Declares settings as dataclass fields: each field made by `setting` is the variable KARPDASH_<NAME>, with type,
default, limits and description. msgspec checks types and limits.
"""

import difflib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import Field, dataclass, field, fields, replace
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import msgspec

from migrations_app.errors import InvalidInput, InvalidSetting

PREFIX = "KARPDASH_"
FILE = "_FILE"
LONGEST_FILE = 65_536
ELSEWHERE = frozenset(
    f"{PREFIX}{name}"
    for name in (
        "API_EXAMPLES", "BENCH_SCALE", "JOURNEY", "PICTURES", "REQUIRE_SERVICES", "SCREENSHOTS", "TEST_DATABASE",
        "TEST_LATE", "TLS_DIR", "TOKEN",
    )
)  # fmt: skip
"""Variables of docker-compose.yml, `karpdash --server`, tests and benchmarks; they are no settings."""
_SERVICE_LINK = re.compile(r"KARPDASH_([A-Z0-9_]+_)?(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT(_\d+_(TCP|UDP|SCTP)\w*)?)")
"""Variables that Kubernetes sets in each pod for a Service whose name begins with `karpdash`."""


def setting(
    default: object,
    doc: str,
    *,
    read: Callable[[str], object] | None = None,
    low: int | None = None,
    high: int | None = None,
    secret: bool = False,
    variable: str = "",
) -> Any:  # noqa: ANN401 - dataclasses.field hides its type in the same way
    """Returns a field that is a setting. `read` makes the value from the text and raises InvalidInput. A secret may
    come from a file, and is in no message and no repr. `variable` is the name if it differs from the field's.
    """
    definition = Setting(doc=doc, read=read, limits=msgspec.Meta(ge=low, le=high), secret=secret, variable=variable)
    if isinstance(default, dict):
        return field(default_factory=default.copy, metadata={"setting": definition}, repr=not secret)
    return field(default=default, metadata={"setting": definition}, repr=not secret)


@dataclass(frozen=True, kw_only=True)
class Setting:
    """The variable of a field. `default` is written as in the environment."""

    doc: str
    read: Callable[[str], object] | None
    limits: msgspec.Meta
    secret: bool
    variable: str
    name: str = ""
    kind: Any = str
    default: str = ""

    @property
    def allowed(self) -> str:
        """The allowed values; empty for a text that `read` checks."""
        if self.kind is int:
            return f"{self.limits.ge} to {self.limits.le}"
        if get_origin(self.kind) is Literal:
            return ", ".join(get_args(self.kind))
        return "0, 1" if self.kind is bool else ""

    def value(self, text: str) -> Any:  # noqa: ANN401 - of the type of the field
        """Returns the value of that text. Raises InvalidSetting with the variable in `where`."""
        read = self.read or _READERS.get(self.kind, str)
        try:
            return msgspec.convert(read(text), Annotated[self.kind, self.limits])
        except InvalidInput as error:
            raise InvalidSetting(error.message, where=self.variable) from None
        except msgspec.ValidationError:
            mismatch = f"not a whole number from {self.allowed}" if self.kind is int else f"none of {self.allowed}"
            raise InvalidSetting(f"{text!r} is {mismatch}", where=self.variable) from None


def settings_of(declaration: type) -> tuple[Setting, ...]:
    """Returns the fields made by `setting`, in their order."""
    kinds = get_type_hints(declaration)
    return tuple(
        _completed(attribute, kinds[attribute.name])
        for attribute in fields(declaration)
        if "setting" in attribute.metadata
    )


def _completed(attribute: Field[Any], kind: Any) -> Setting:  # noqa: ANN401 - a type or a form of typing
    definition: Setting = attribute.metadata["setting"]
    variable = PREFIX + (definition.variable or attribute.name.upper())
    return replace(
        definition, name=attribute.name, kind=kind, variable=variable, default=_default_text(attribute.default)
    )


def texts(settings: Iterable[Setting], environ: Mapping[str, str]) -> dict[str, str]:
    """Returns the texts that are set, by field name. Raises InvalidSetting for a secret that is set twice or whose file
    cannot be read, and for a variable that begins with KARPDASH_ but is no setting.
    """
    by_variable = {setting.variable: setting for setting in settings}
    files = {f"{name}{FILE}": setting for name, setting in by_variable.items() if setting.secret}
    _refuse_unknown(set(environ), allowed=by_variable.keys() | files.keys())
    values = {setting.name: environ[name].strip() for name, setting in by_variable.items() if name in environ}
    for name, setting in files.items():
        if path := environ.get(name, "").strip():
            if values.get(setting.name):
                raise InvalidSetting(f"is set beside {setting.variable}: give one of them", where=name)
            values[setting.name] = _content(Path(path), where=name)
    return values


def _refuse_unknown(names: set[str], *, allowed: set[str]) -> None:
    for name in sorted(names - allowed - ELSEWHERE):
        if name.startswith(PREFIX) and not _SERVICE_LINK.fullmatch(name):
            candidates = [variable.removeprefix(PREFIX) for variable in sorted(allowed)]
            similar = difflib.get_close_matches(name.removeprefix(PREFIX), candidates, n=1, cutoff=0.7)
            hint = f"did you mean {PREFIX}{similar[0]}?" if similar else "the settings are listed in docs/settings.md"
            raise InvalidSetting(f"there is no such setting; {hint}", where=name)


def _content(path: Path, *, where: str) -> str:
    try:
        with path.open("rb") as file:
            text = file.read(LONGEST_FILE + 1).decode()
    except OSError as error:
        raise InvalidSetting(f"cannot read the file: {error.strerror}", where=where) from None
    except UnicodeDecodeError:
        raise InvalidSetting("the file is not UTF-8 text", where=where) from None
    if len(text) > LONGEST_FILE or not text.strip():
        raise InvalidSetting(f"the file is empty or longer than {LONGEST_FILE:,} bytes", where=where)
    return text.strip()


def _default_text(default: object) -> str:
    if isinstance(default, bool):
        return "1" if default else "0"
    if isinstance(default, tuple):
        return ",".join(default)
    return str(default) if isinstance(default, int | str | Path) else ""


def _comma_separated(text: str) -> tuple[str, ...]:
    return tuple(piece.strip() for piece in text.split(",") if piece.strip())


_READERS: dict[Any, Callable[[str], object]] = {
    # Any other text stays a text, which msgspec refuses; msgspec itself would also accept `true` and `1e3`.
    bool: lambda text: {"0": False, "1": True}.get(text, text),
    int: lambda text: int(text) if text.isdecimal() else text,
    tuple[str, ...]: _comma_separated,
    Path: lambda text: Path(text).absolute(),
}
