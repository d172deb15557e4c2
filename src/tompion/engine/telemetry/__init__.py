"""Telemetry of an engine: one call, ``Telemetry.record``, and three sinks: metrics, run events and traces."""
