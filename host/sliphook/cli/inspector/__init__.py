"""`sliphook inspect`: a page on loopback to try one living plugin by hand.

`things` and `saving` are pure; `feed` keeps what passes over the wire; `living` runs the plugin on
the public host; `server` shows it all to a browser.
"""
