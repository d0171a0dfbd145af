"""Sample clusters that people can act on: their first objects, and what an upgrade of the controller changes."""
