"""Moving through the snapshots of a run, by a bar below the panels: its slider is the loss."""
