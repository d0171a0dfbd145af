"""Reading rows for pages, the API and the command line. Nothing here changes rows."""
