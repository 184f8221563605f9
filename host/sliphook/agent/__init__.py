"""The reference agent: a small loop that is real, and the example that other agents copy from.

`loop` is the agent and `conversation` what its model reads; `model` is the seam to models, `scripted` and `openai` the two there are,
`choice` finds the one that a user means; `display` shows things as they happen.
"""
