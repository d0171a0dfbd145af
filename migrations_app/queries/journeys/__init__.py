"""Reading journeys: lists, one journey with its steps, and which one holds a cluster."""
