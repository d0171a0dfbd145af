"""The tests of karpdash. Folders mirror the packages; CONTRIBUTING.md says what the others hold."""
