"""Reading scans, snapshots and findings."""
