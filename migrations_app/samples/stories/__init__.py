"""The stories, one in each file; each module defines `story`."""
