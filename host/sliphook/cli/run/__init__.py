"""`sliphook run`: one prompt, one turn. `chat` uses its set-up of agent and models too."""
