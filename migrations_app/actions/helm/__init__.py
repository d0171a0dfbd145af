"""What an upgrade of the controller by helm asks for, and its step."""
