"""What comes from a model's server, bounded: no server may hold the loop or fill the memory."""
