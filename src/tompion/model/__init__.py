"""Plain data, standard library only: what the other packages pass to each other."""
