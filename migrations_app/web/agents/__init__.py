"""Where agents of clusters dial in, and the page of an agent."""
