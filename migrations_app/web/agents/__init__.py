"""The endpoints that agents of clusters connect to, and the page of an agent."""
