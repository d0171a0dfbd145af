"""One file an action. A file here is found by itself; nothing lists it."""
