"""`sliphook trace`: read, draw and replay a trace file."""
