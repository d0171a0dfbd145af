"""What an upgrade of the controller by helm asks for, its step, and its words."""
