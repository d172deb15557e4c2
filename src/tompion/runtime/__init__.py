"""Process plumbing: clock, event loop, signals and thread pool."""
