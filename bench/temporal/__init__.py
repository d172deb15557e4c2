"""The Temporal API beside a real Temporal server: schedules created and described per second, and memory."""
