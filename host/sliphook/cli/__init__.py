"""The command line: `main` holds the commands' names, each command has a module, `common` what they share."""
