"""Counts the objects that a step takes along with its own, such as the nodes of a pool, right before its request."""

from migrations_app.actions.plan import ListLimit, Step
from migrations_app.clients.kubernetes.api import Resource, Writer
from migrations_app.errors import NotServed


def list_difference(step: Step, writer: Writer) -> str:
    """Text of which list holds more objects than the preview counted; empty if none does. Raises ReadError."""
    differences = (limit.difference(_count(limit, writer)) for limit in step.at_most)
    why = next((words for words in differences if words), "")
    return f"{why}; make a new preview" if why else ""


def _count(limit: ListLimit, writer: Writer) -> int:
    """The number of objects in the list; 0 if the kind is not served any more, as then no object is left."""
    resource = Resource(limit.group, limit.version, limit.plural, label_selector=limit.label_selector)
    try:
        return sum(len(page.items) for page in writer.pages(resource))
    except NotServed:
        return 0
