"""REST resources of the whole fleet."""
