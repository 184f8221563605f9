"""`sliphook attach`, `detach` and `hook`: the installed plugins in another agent."""
