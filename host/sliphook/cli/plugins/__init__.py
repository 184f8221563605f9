"""Commands that manage installed plugins: install, uninstall, list, enable, disable, trust, config."""
