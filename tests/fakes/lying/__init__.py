"""API servers that cut, delay, lie and replay: one way each, on top of a server that answers honestly."""
