"""What a running plugin has: the contexts of its handlers, the state of its sessions, its log."""
