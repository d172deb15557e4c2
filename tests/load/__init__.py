"""Many concurrent runs: their cost, their effect on others, and their cancellation."""
