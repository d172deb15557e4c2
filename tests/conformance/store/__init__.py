"""The contract of a store, on every driver."""
