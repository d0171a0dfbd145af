"""From findings to a plan: stage, path, checklist and verdict of each hop.

Pure. What may be stored or sent never belongs here."""
