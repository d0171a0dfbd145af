"""Gates on the status of what a step changed: the controller, a delivery, a workload."""
