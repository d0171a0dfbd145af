"""Gates on the status that one object reports of itself."""
