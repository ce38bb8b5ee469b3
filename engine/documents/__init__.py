"""Documents about models: example code, model card, run report, comparison."""
