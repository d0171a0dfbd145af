"""Which subnets each node class and node template selects.

Sources: pkg/providers/subnet/subnet.go of aws/karpenter-provider-aws at v0.31.4 (subnetSelector: tags, lists with
commas, aws-ids), v0.37.8 and v1.14.1 (subnetSelectorTerms: any of the terms, all tags of one). EC2 compares values of
tags with the wildcards * and ?.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from migrations_app.inventory.facts.node_pools import rows, strings
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects.base import WholeObject
from migrations_app.inventory.objects.capacity import Subnet, TaggedSubnet

TERMS = "spec.subnetSelectorTerms"
SELECTOR = "spec.subnetSelector"
ID_KEYS = ("aws-ids", "aws::ids")


@dataclass(frozen=True, slots=True)
class SubnetTerm:
    """Selects a subnet with one of these ids, if any are given, and with every tag; a tag's values are alternatives."""

    ids: tuple[str, ...]
    tags: tuple[tuple[str, tuple[str, ...]], ...]

    def selects(self, name: str, tags: Mapping[str, str]) -> bool:
        if not self.ids and not self.tags:
            return False
        named = not self.ids or any(_like(name, pattern) for pattern in self.ids)
        return named and all(
            key in tags and any(_like(tags[key], tag_pattern) for tag_pattern in patterns)
            for key, patterns in self.tags
        )


def _like(text: str, pattern: str) -> bool:
    return fnmatchcase(text, pattern.replace("[", "[[]"))


def selector_keys(inventory: Inventory) -> frozenset[str]:
    """The keys of all tags that a selector names."""
    return frozenset(key for _, terms in _classes(inventory) for term in terms for key, _ in term.tags)


def selected_subnets(inventory: Inventory, subnets: Iterable[TaggedSubnet]) -> tuple[Subnet, ...]:
    """The subnets that node classes or templates select, each with the names of these; all others are left out."""
    classes = tuple(_classes(inventory))
    return tuple(subnet for tagged_subnet in subnets if (subnet := _with_classes(tagged_subnet, classes)).classes)


def _with_classes(subnet: TaggedSubnet, classes: tuple[tuple[str, tuple[SubnetTerm, ...]], ...]) -> Subnet:
    tags, name = dict(subnet.tags), subnet.subnet.id
    by = tuple(key for key, terms in classes if any(term.selects(name, tags) for term in terms))
    return replace(subnet.subnet, classes=by)


def _classes(inventory: Inventory) -> Iterator[tuple[str, tuple[SubnetTerm, ...]]]:
    """Kind/name of each node class and template, with its terms; none where its selector cannot be read."""
    for node_class in inventory.ec2nodeclasses.items:
        yield f"EC2NodeClass/{node_class.name}", tuple(_terms(node_class))
    for template in inventory.awsnodetemplates.items:
        yield f"AWSNodeTemplate/{template.name}", tuple(_selector(template))


def _terms(node_class: WholeObject) -> Iterator[SubnetTerm]:
    for _, term in rows(node_class, TERMS):
        tags, name = term.get("tags") or {}, term.get("id")
        if isinstance(tags, dict) and all(isinstance(value, str) for value in tags.values()):
            tag_values = tuple((key, (value,)) for key, value in tags.items())
            yield SubnetTerm((name,) if isinstance(name, str) and name else (), tag_values)


def _selector(template: WholeObject) -> Iterator[SubnetTerm]:
    entries = strings(template, SELECTOR)
    selector = template.get(SELECTOR)
    if not entries or not isinstance(selector, dict) or len(entries) != len(selector):
        return
    lists = {key: tuple(text.strip() for text in value.split(",")) for key, value in entries.items()}
    ids = tuple(text for key in ID_KEYS for text in lists.pop(key, ()))
    yield SubnetTerm(ids, tuple(lists.items()))
