"""The steps of an engine. Each runs in one transaction and returns a ``StepResult``."""
