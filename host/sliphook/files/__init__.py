"""What Sliphook keeps on disk and which of it may be trusted: paths, atomic changes, file owners, held files, TOML.

For every package above.
"""
