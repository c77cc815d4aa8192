"""The suite ``small``: small data sets on which every feature has the same price."""
