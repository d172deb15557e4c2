"""The contract of a store, tested on every driver."""
