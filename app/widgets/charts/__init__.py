"""Charts and figures, on screen and on paper."""
