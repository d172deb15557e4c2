"""Checks that the stored ledger is complete and consistent."""
