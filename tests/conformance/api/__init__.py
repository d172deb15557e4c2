"""Every door gives the same answers."""
