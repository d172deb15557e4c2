"""Time zones: tables, DST rules and the mapping of wall times to instants."""
