"""What other agents say to their hooks and what they take from them, as tables; nothing waits here.

`told` has what an agent says, in our words, `answer` what is said back, `dialect` the shape of a
table, and a module of each agent's name its table. `known` has them all; `subscribed` says what
plugins need of one.
"""
