"""Use cases: everything that changes rows. Transactions begin and end here; no network call runs inside one."""
