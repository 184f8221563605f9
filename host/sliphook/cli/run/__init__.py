"""`sliphook run`: one prompt, one turn. Its set-up of agent and models also serves `chat`."""
