"""Where pods run and where they can go: pods and nodes in memory, and the search for a node with room."""
