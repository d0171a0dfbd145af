"""One file for each action. Files here are discovered; there is no list of them."""
