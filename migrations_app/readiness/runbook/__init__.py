"""The plan of a report: its hops in order, the checks that each hop fixes, and the commands in the order of work."""
