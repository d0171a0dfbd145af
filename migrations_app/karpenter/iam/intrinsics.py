"""Functions of CloudFormation that stand for a text, spelled out with its placeholders: `${Name}` and `${Name.Arn}`."""

import re
from collections.abc import Mapping

_PLACEHOLDER = re.compile(r"\$\{([^{}!]+)\}")


def text_of(value: object) -> str | None:
    """The text that the value stands for; None where it is neither a text nor a function.

    What only the stack knows, such as an import or a choice, is a placeholder that nobody fills.
    """
    try:
        return _spelled(value)
    except RecursionError:  # functions in functions, deeper than anybody writes them
        return None


def _spelled(value: object) -> str | None:
    match value:
        case str():
            return value
        case {"Ref": str(name), **rest} if not rest:
            return f"${{{name}}}"
        case {"Fn::GetAtt": [str(name), str(attribute)], **rest} if not rest:
            return f"${{{name}.{attribute}}}"
        case {"Fn::GetAtt": str(path), **rest} if not rest:
            return f"${{{path}}}"
        case {"Fn::Sub": inner, **rest} if not rest:
            return _substituted(inner)
        case {"Fn::Join": [str(between), list(pieces)], **rest} if not rest:
            return _joined(between, pieces)
        case dict() if len(value) == 1 and (name := next(iter(value))).startswith("Fn::"):
            return f"${{{name}}}"
    return None


def _substituted(inner: object) -> str | None:
    match inner:
        case str():
            return inner
        case [str(text), dict(names)]:
            return _named(text, names)
    return None


def _named(text: str, names: Mapping[str, object]) -> str | None:
    told = {name: _spelled(value) for name, value in names.items()}
    if None in told.values():
        return None
    return _PLACEHOLDER.sub(lambda found: told.get(found[1].strip()) or found[0], text)


def _joined(between: str, pieces: list[object]) -> str | None:
    texts = [_spelled(piece) for piece in pieces]
    return None if None in texts else between.join(text for text in texts if text is not None)
