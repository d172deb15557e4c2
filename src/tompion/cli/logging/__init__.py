"""Log lines of the commands that keep running: text, JSON, and the queue that writes them."""
