"""What tests of code that uses Foliot need: a clock that is moved by hand."""
