"""The tests of karpdash: folders mirror the packages, `servers/` holds the real servers that some of them talk to."""
