"""Pages of journeys: the upgrade of one cluster step by step, lists, and their forms."""
