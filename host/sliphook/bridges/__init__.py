"""Sliphook inside other agents: each package here is an embedder that uses public names alone."""
