"""One program per peer.  Each runs in the peer's own environment and shares nothing with Tompion but ``common``."""
