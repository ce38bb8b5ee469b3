"""From the typed text to the input vectors of the first layer."""
