"""Words in the slots of templates, and how much one makes another more likely."""
