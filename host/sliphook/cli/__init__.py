"""The command line. `main` lists the commands, each command has a module; `common` is shared."""
