"""What Sliphook keeps on disk and which of it may be trusted: paths, atomic changes, owners, TOML.

`rotating_file` is a log that does not fill the disk; `background_writer` keeps anything slow, not
only a disk, from the host's loop. For every package above.
"""
