"""Starting runs: one contract, an executor for each kind of target."""
