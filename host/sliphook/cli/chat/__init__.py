"""`sliphook chat`: a conversation at a terminal or through a pipe."""
