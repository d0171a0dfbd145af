"""One file for each action, those on CRDs in a folder of their own. They are discovered; there is no list of them."""
