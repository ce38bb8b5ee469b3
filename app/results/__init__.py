"""What a model predicted for rows, measured and listed, wherever a page shows a trained model."""
