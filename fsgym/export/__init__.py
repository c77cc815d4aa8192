"""One file for one model: a page that asks about a case in a browser, without Python and without a network."""
