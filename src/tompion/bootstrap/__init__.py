"""Builds a process from its configuration. Only this package names the drivers of stores."""
