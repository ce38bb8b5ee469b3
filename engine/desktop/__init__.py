"""What is asked of the desktop: a notification, no sleep, and a command of the user's own."""
