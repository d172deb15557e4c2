"""The executor that starts workflows on Temporal."""
