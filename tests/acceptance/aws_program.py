"""Lines for the aws program, run through boto3 by the models that the program itself is made from."""

import json
import shlex
from collections.abc import Callable, Mapping
from typing import Any

from botocore import xform_name

Client = Any
GLOBAL = ("--region", "--output", "--query")


def run(lines: str, client_of: Callable[[str], Client]) -> None:
    """Each line in order; comments are passed over. Raises ValueError for what the program would refuse, and what boto3
    raises for what AWS refuses."""
    for line in lines.splitlines():
        words = shlex.split(line, comments=True)
        if words:
            _call(words, client_of)


def _call(words: list[str], client_of: Callable[[str], Client]) -> None:
    program, service, operation, *given = words
    if program != "aws":
        raise ValueError(f"{program} is not the aws program")
    client = client_of(service)
    method = operation.replace("-", "_")
    name = client.meta.method_to_api_mapping[method]
    members = client.meta.service_model.operation_model(name).input_shape.members
    getattr(client, method)(**given_to(members, given))


def given_to(members: Mapping[str, Any], words: list[str]) -> dict[str, Any]:
    """What the words behind an operation give to these members of its input. Raises KeyError for an option that is
    none, and ValueError for a word behind no option."""
    by_option = {f"--{xform_name(member, '-')}": member for member in members}
    return {
        by_option[option]: _value(members[by_option[option]], values)
        for option, values in _options(words).items()
        if option not in GLOBAL
    }


def _options(words: list[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    option = ""
    for word in words:
        if word.startswith("--"):
            option = word
            found[option] = []
        elif not option:
            raise ValueError(f"{word} stands behind no option")
        else:
            found[option].append(word)
    return found


def _value(shape: Any, words: list[str]) -> Any:
    if shape.type_name in ("map", "structure", "list") and len(words) == 1 and words[0][:1] in ("{", "["):
        return json.loads(words[0])
    if shape.type_name == "list":
        return [_shorthand(word) if shape.member.type_name == "structure" else word for word in words]
    if shape.type_name in ("map", "structure"):
        return _shorthand(words[0])
    (word,) = words
    if shape.type_name in ("integer", "long"):
        return int(word)
    return word == "true" if shape.type_name == "boolean" else word


def _shorthand(word: str) -> Mapping[str, str]:
    """`Key=a,Value=b`, where no value holds a comma."""
    return dict(part.split("=", 1) for part in word.split(","))
