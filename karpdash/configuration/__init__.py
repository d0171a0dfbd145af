"""The environment as validated values, and the parts of Django's settings made from it. Decides nothing later on."""
