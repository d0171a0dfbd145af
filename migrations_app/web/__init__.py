"""Pages and forms for the browser. They call use cases and queries, and decide nothing."""
