"""Text and number formats of values: JSON, instants and trace headers. It imports no other part of Tompion."""
