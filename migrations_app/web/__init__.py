"""The browser: pages and forms. They call flow and queries, and decide nothing."""
