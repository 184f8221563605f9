"""The patterns of `match`: what they fit, and which subscriptions they let be chosen."""
