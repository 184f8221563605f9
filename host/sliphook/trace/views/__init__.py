"""What a trace shows: summary, spans, pictures.

Pure: records in, text out. For the command line and for readers of traces.
"""
