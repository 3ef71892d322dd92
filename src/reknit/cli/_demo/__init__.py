"""The demo behind ``reknit demo``: a network of processes, real clients, one broker killed, links moved, and a verdict.

It stands beside its verb because it uses all that lies below: the live network, the client and the checkers, which
know nothing of each other. Read ``play`` first; it is the story. ``world`` says who takes part and what is said,
``clients`` connects, ``changes`` changes the tree, ``watch`` looks through the operators' doors, ``verdict`` judges,
``show`` prints.

``loop`` is a second story: a network with a bad tree, whose trace becomes a plan that is carried out while events flow.
``friends`` says who takes part in that, ``report`` is the page that it leaves.
"""
