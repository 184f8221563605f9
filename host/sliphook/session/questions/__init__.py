"""A question to a person: what its answer has to be, and who settles it."""
