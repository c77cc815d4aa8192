"""The suite ``syn``: three rules on 11 normal features, of which one selects the relevant others."""
