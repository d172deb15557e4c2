"""What an engine reports: metrics, events and traces."""
