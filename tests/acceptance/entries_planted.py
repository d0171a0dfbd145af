"""All entries of the coverage that are planted beside the faults."""

from tests.acceptance.entries_controller import CONTROLLER_ENTRIES
from tests.acceptance.entries_pools import POOL_ENTRIES

PLANTED_ENTRIES = (*POOL_ENTRIES, *CONTROLLER_ENTRIES)
