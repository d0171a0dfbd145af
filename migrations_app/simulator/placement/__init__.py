"""Where pods are and where they can go: pods and nodes as the simulator knows them, and the search for room."""
