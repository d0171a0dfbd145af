"""Counts the objects that a step takes along with its own, such as the nodes of a pool, right before its request."""

from migrations_app.actions.plan import ListLimit, Step
from migrations_app.clients.kubernetes.api import Resource, Writer
from migrations_app.errors import NotServed


def list_difference(step: Step, writer: Writer) -> str:
    """Text of which list holds more objects than the preview counted, or cannot be counted because the API server does
    not serve it: objects may be stored all the same. Empty if none does. Raises ReadError.
    """
    differences = (_difference(limit, writer) for limit in step.at_most)
    why = next((words for words in differences if words), "")
    return f"{why}; make a new preview" if why else ""


def _difference(limit: ListLimit, writer: Writer) -> str:
    resource = Resource(limit.group, limit.version, limit.plural, label_selector=limit.label_selector)
    try:
        return limit.difference(sum(len(page.items) for page in writer.pages(resource)))
    except NotServed:
        return f"{limit.what}: {limit.version} is not served, so they cannot be counted"
