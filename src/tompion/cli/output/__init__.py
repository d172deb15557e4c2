"""Output of the commands: console, tables, views and progress bars."""
