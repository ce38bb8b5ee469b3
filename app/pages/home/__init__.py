"""The way in: three cards, the first steps, recent runs, and how this machine is."""
