"""What the user sees of the agent and is asked by it. For the agent loop and the command line."""
