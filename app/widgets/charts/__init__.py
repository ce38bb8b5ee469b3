"""Charts in the window, and figures for export."""
