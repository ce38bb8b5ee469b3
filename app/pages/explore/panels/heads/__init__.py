"""What every head does in many texts."""
