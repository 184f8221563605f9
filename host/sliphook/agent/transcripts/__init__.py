"""What is kept of conversations: an SQLite file, its writer thread and its reader.

For the agent loop and the command line.
"""
