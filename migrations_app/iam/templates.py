"""Extracts policy documents as JSON text from a file: one policy, or all policies in a CloudFormation template."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import yaml

from migrations_app.errors import InvalidPolicy
from migrations_app.iam.policy import MAX_BYTES, plain_text, refuse_repeated_keys, text_of
from migrations_app.manifests.nesting import parse_json
from migrations_app.manifests.writer import Plain
from migrations_app.manifests.yaml_reader import NotReadable, compose

# CloudFormation accepts no template above 1 MB; a whole template is larger than any policy in it.
MAX_TEMPLATE_BYTES = 1_000_000
_POLICIES = frozenset({"AWS::IAM::ManagedPolicy", "AWS::IAM::Policy", "AWS::IAM::RolePolicy"})
_ROLE = "AWS::IAM::Role"
_PLACEHOLDER = re.compile(r"\$\{([^{}!]+)\}")
UNNAMED = "name that the stack gives"
"""Part of a placeholder: a role without a RoleName gets its name from the stack, so no user can fill it in."""


class _TemplatePolicy(NamedTuple):
    """A policy of a template, and the role it belongs to (empty if the template attaches it to none)."""

    role: str
    name: str
    document: object


def policy_texts(data: bytes, *, name: str) -> dict[str, str]:
    """Documents by name: the file name for a policy; the file name and the place for each policy of a template.

    Raises InvalidPolicy for a template that cannot be read or that has policies of several roles: only one role is
    the controller's, and permissions of others must never count as its own.
    """
    template = _template(data, name)
    if template is None:
        return {name: plain_text(data[: MAX_BYTES + 1], name=name)}
    policies = list(_template_policies(template))
    roles = sorted({policy.role for policy in policies})
    if not policies:
        raise InvalidPolicy("the template holds no IAM policy", where=name)
    if len(roles) > 1:
        role_names = ", ".join(role or "no role" for role in roles)
        raise InvalidPolicy(
            f"the template gives policies to {role_names}: give those of the controller's role alone", where=name
        )
    named = _role_names(template)
    documents = {f"{name}: {policy.name}": policy.document for policy in policies}
    return {place: _text(_with_roles(document, named), place) for place, document in documents.items()}


def _template(data: bytes, name: str) -> Mapping[str, Any] | None:
    """The resources of a template; None if the file is not a template."""
    if b"Resources" not in data or b"AWS::IAM::" not in data:
        return None
    if len(data) > MAX_TEMPLATE_BYTES:
        raise InvalidPolicy(
            f"more than {MAX_TEMPLATE_BYTES:,} bytes; CloudFormation takes no such template", where=name
        )
    tree = _tree(data, name)
    resources = tree.get("Resources") if isinstance(tree, dict) and "Statement" not in tree else None
    return resources if isinstance(resources, dict) else None


def _tree(data: bytes, name: str) -> Plain:
    text = plain_text(data, name=name, most=MAX_TEMPLATE_BYTES)
    try:
        if text.lstrip().startswith("{"):
            return parse_json(text, pairs=refuse_repeated_keys)
        composed = next(compose(text, tagged=_function))
    except StopIteration:
        return None
    except NotReadable as wrong:
        raise InvalidPolicy(wrong.message, where=f"{name}: line {wrong.line + 1}") from wrong
    except yaml.YAMLError as wrong:
        mark = getattr(wrong, "problem_mark", None)
        raise InvalidPolicy("not YAML", where=f"{name}: line {mark.line + 1}" if mark else name) from wrong
    except ValueError:
        return None  # the policy reader reports what is wrong with the JSON
    if composed.repeats:
        repeat = composed.repeats[0]
        message = f"the element {str(repeat.path[-1])[:60]!r} is repeated in one object"
        raise InvalidPolicy(message, where=f"{name}: line {repeat.line + 1}")
    return composed.value


def _function(tag: str, value: Plain) -> Plain:
    """The long form of a short one: `!Sub x` is {"Fn::Sub": "x"}."""
    return {tag if tag in ("Ref", "Condition") else f"Fn::{tag}": value}


def _template_policies(resources: Mapping[str, Any]) -> Iterator[_TemplatePolicy]:
    for name, resource in resources.items():
        kind = str(resource.get("Type")) if isinstance(resource, dict) else ""
        properties = resource.get("Properties") if isinstance(resource, dict) else None
        if not isinstance(properties, dict):
            continue
        if kind in _POLICIES:
            roles = _roles(properties) or _attaching(resources, name) or [""]
            yield from (_TemplatePolicy(role, name, properties.get("PolicyDocument")) for role in roles)
        elif kind == _ROLE:
            yield from _inline(name, properties.get("Policies"))


def _inline(role: str, policies: object) -> Iterator[_TemplatePolicy]:
    for policy in policies if isinstance(policies, list) else ():
        if isinstance(policy, dict):
            yield _TemplatePolicy(
                role, f"{role}.{text_of(policy.get('PolicyName')) or 'policy'}", policy.get("PolicyDocument")
            )


def _roles(properties: Mapping[str, Any]) -> list[str]:
    """The roles that a policy names, without placeholder signs."""
    listed = properties.get("Roles")
    named = [*(listed if isinstance(listed, list) else ()), properties.get("RoleName")]
    return sorted({_bare(text) for role_value in named if (text := text_of(role_value))})


def _role_names(resources: Mapping[str, Any]) -> dict[str, str]:
    """Placeholders for the template's own roles, mapped to the role's name and its ARN.

    The role that a cluster uses must not replace them, because the template says which role it means.
    """
    names: dict[str, str] = {}
    for name, resource in resources.items():
        if isinstance(resource, dict) and resource.get("Type") == _ROLE:
            raw_properties = resource.get("Properties")
            properties = raw_properties if isinstance(raw_properties, dict) else {}
            role = text_of(properties.get("RoleName")) or f"${{{name}: {UNNAMED}}}"
            path = text_of(properties.get("Path")) or "/"
            names |= {name: role, f"{name}.Arn": f"arn:${{AWS::Partition}}:iam::${{AWS::AccountId}}:role{path}{role}"}
    return names


def _with_roles(document: object, named: Mapping[str, str]) -> object:
    """The document with the template's own roles spelled out; functions become the texts that they stand for."""
    text = text_of(document)
    if text is not None:
        return _PLACEHOLDER.sub(lambda match: named.get(match[1].strip(), match[0]), text)
    if isinstance(document, dict):
        return {key: _with_roles(value, named) for key, value in document.items()}
    if isinstance(document, list):
        return [_with_roles(value, named) for value in document]
    return document


def _attaching(resources: Mapping[str, Any], policy: str) -> list[str]:
    """The roles of the template that attach the policy."""
    return sorted(name for name, resource in resources.items() if policy in _attached(resource))


def _attached(resource: object) -> list[str]:
    match resource:
        case {"Type": "AWS::IAM::Role", "Properties": {"ManagedPolicyArns": list(arns)}}:
            return [_bare(text) for arn in arns if (text := text_of(arn))]
    return []


def _bare(text: str) -> str:
    return text.removeprefix("${").removesuffix("}")


def _text(document: object, name: str) -> str:
    """The document as JSON text: an IAM object, or the text that a function produces."""
    if isinstance(document, dict) and "Statement" in document:
        return json.dumps(document)
    text = text_of(document)
    if text is None:
        raise InvalidPolicy("its PolicyDocument is neither an object nor a text", where=name)
    return text
