"""The trace: a record of every message, and where it can go.

`record` is what the host hands out, `writer` carries records off the host's loop, `live` and `file` are the two places they go to,
`lines` is the format of the file, `render` what a person sees of a record, and `redact` keeps secrets out of both.
"""
