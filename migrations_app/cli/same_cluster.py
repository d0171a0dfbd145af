"""Notes on stderr about clusters that are registered more than once."""

import uuid

from migrations_app.cli.terminal import print_note


def note_same_address(cluster_id: uuid.UUID) -> None:
    """Says under which other names the address of that new registration is registered."""
    from migrations_app.queries.clusters.identity import names_at_address

    if names := names_at_address(cluster_id):
        print_note(
            f"the address of this API server is registered as {', '.join(names)}, too; if that is the same cluster, "
            "keep one of them (karpdash cluster rm NAME); a scan that reads the uid of kube-system tells"
        )


def note_registered_again() -> None:
    """Says which registrations of the list are one cluster."""
    from migrations_app.queries.clusters.identity import registered_again

    for names in registered_again():
        print_note(
            f"{', '.join(names)} are one cluster, by the uid of its kube-system: join them on a cluster's page, or "
            "keep one of them (karpdash cluster rm NAME)"
        )
