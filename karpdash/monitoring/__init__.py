"""What operators watch: health, metrics, log lines and the state of the schema. Nothing here changes rows."""
