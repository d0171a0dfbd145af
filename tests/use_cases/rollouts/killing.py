"""Steps of all kinds for tests that kill workers, and their effects as the API server recorded them."""

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


def effects(server, row, workers):
    """Returns the steps that took effect, each as often as it did, by the API server's audit log."""
    found = audit_log_reader.requests(server.audit_events(workers.mark), of=row)
    return sorted(one.step for one in found if one.took_effect)
