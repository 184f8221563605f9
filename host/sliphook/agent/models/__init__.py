"""Model clients: OpenAI-compatible servers, Anthropic, and a scripted one.

For the agent loop. Public through `sliphook.agent`: ScriptedModel.
"""
