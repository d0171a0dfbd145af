"""The cluster stories, one a file; each module offers `story`."""
