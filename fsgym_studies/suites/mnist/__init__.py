"""The suite ``mnist``: handwritten digits by pixels, by patches, and by 20 given pixels."""
