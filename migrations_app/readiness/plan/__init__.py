"""The plan of a report: the hops in order, what each clears, and the commands in the order of the work."""
