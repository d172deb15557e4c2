"""Conversion between Temporal's messages and Tompion's documents."""
