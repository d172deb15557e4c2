"""What every operation and every step of an engine must do, on every store."""
