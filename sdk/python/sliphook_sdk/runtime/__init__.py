"""What a running plugin has: the contexts of its handlers, its tools, its sessions, its log.

`plugin` and `service` use it; authors import `Context` and `AsyncContext` from `sliphook_sdk`.
"""
