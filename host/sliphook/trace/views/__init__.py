"""What a trace shows: a summary, spans, pictures.

Pure: records in, values and text out. `spans` and `summary` hold the values, `span_builder` reads
spans from records, `perfetto` and `timeline` draw them. For the command line and readers of traces.
"""
