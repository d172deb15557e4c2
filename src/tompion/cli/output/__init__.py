"""What commands print: console, tables, views and progress."""
