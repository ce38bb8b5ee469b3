"""What pages share that fetch from the hub or send to it."""
