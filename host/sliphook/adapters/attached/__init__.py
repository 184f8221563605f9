"""Our plugins in another agent: a thin client for each hook, a daemon for each of its sessions.

`client.c` is what the agent runs, `client.py` the same without a compiler, and `build` makes one of
them. `rendezvous` is where client and daemon meet. In the daemon, `service` takes the requests and
`payload` decodes them, `rooms` keeps the session and its turns, which `held` opens, `children`
those of its child agents, `calls` makes one tool call of two hooks, `prompts` tells what the agent
asks its person; `agent_session` ends a session, and `daemon` has them all.
"""
