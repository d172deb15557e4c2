"""RRULE: parser and arithmetic."""
