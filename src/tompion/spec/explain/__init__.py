"""Explains a spec in plain English."""
