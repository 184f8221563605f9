"""What Sliphook keeps on disk and which of it may be trusted: paths, atomic changes, file owners, held files, TOML.

`background_writer` is how anything slow, not only a disk, is kept from the host's loop. For every
package above.
"""
