"""The trace: a record of every message, where it can go, and everything that reads it again.

`record` is what the host hands out, `writer` carries records off the host's loop, `live` and `file` are the two places they go to,
`lines` is the format of the file, `render` what a person sees of a record, and `redact` keeps secrets out of both. `otel` stands beside
them: spans for other tools, made while things happen.

`reading` and `following` read a file, `filter` and `turns` choose from it, and `exchanges` says which records belong together. `summary`
counts them; `story` tells what began and ended as `spans`, which `timeline` and `perfetto` draw. `script` is what the host had sent to one
plugin; `replay` has `player` send it again, and `differences` are what came of it.
"""
