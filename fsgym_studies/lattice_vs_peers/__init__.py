"""Our own lattice agent compared with other methods that acquire features or select them; reproduces no paper."""
