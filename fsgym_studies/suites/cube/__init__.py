"""The suites ``cube``, ``cube-nuc`` and ``cube-nm``: corners of a cube among noise, with a known distribution."""
