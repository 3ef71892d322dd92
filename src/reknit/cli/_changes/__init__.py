"""Behind the verbs that change the tree: from an operator's wish to steps, what they will take, and how they went.

``view`` is the network as its doors tell it, ``plans`` turns a wish into moves (strategies by name), ``cost`` says what
they will take, ``perform`` asks brokers for them, ``told`` puts together what brokers remember of changes, and ``run``
is what the verbs have in common.
"""
