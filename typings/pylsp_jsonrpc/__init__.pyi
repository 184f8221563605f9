# Types of python-lsp-jsonrpc 1.1, which ships none: the parts that Sliphook uses.
