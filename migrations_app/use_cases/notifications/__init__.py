"""Publishing events, routing them to channels, delivering them."""
