"""From the typed text to the vectors that the first layer reads."""
