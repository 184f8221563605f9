"""The reference agent: a small loop that is real, and the example that other agents copy from.

`loop` is the agent, made of `model_call`, `tool_calls`, `delegate` and `repeats`; `conversation` is what its model reads; `model` is the
seam to models, and `choice` finds the one that a user means; `display` and `person` are the seams to whoever sits in front of it;
`gateway` is for many of them at once.
"""
