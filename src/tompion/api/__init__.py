"""The doors that speak a protocol: they parse and authorise, and hold no logic of their own."""
