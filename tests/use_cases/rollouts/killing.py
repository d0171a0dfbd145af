"""Rollouts of all kinds of steps for tests that kill their workers, and what the API server saw of them."""

from tests.use_cases.rollouts import audit_log_reader
from tests.use_cases.rollouts.building import config_map, creating, deleting, node, painting, tainting

VERBS = ("patch", "apply", "create", "delete")


def step(server, verb, name):
    match verb:
        case "patch":
            return tainting(*node(server, name))
        case "apply":
            return painting(*config_map(server, name))
        case "delete":
            return deleting(*config_map(server, name))
        case _:
            return creating(name)


def effects(server, row, gang):
    """How often each step took effect, as the server saw it."""
    found = audit_log_reader.requests(server.audit_events(gang.mark), of=row)
    return sorted(one.step for one in found if one.took_effect)
