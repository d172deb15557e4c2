"""Runs the code of the documentation and generates parts of it."""
