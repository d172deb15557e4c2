"""The command line: one module per group of commands, rendering apart from both."""
