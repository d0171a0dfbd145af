"""A report as text: for a terminal, for a pipeline, for a ticket. Each module offers a pure `render`.

Choosing where the text goes, colours of a terminal included, belongs to the entry points."""
