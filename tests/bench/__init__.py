"""`make bench`: measures scans on a real API server, side by side. A benchmark, never a timed test."""
