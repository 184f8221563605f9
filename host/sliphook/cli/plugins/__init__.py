"""Commands for installed plugins: install, uninstall, list, enable, disable, trust, config."""
