"""Settings page: preferences, and versions and licences."""
