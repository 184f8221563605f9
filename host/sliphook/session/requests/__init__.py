"""What a plugin may ask of the host."""
