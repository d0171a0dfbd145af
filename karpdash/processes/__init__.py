"""The processes of an installation: `karpdash up` with its data folder and broker, and the workers of the queues."""
