"""What a model said of rows: kept row by row, measured, and held against other answers."""
