"""Home page: three cards, first steps, recent runs, the machine."""
