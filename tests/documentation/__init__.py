"""What the documentation shows, run: timelines, tutorials and how-tos."""
