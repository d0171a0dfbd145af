"""The plan of a report: its hops in order, with the checks that each hop fixes and the commands in the order of work."""
