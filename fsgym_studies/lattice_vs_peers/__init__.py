"""No paper: our own lattice agent compared with what asks for features in another way."""
