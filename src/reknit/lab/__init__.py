"""The lab: what the papers claim, measured on the code that ships.

An experiment is frozen data (``experiment``), found by its id (``registry``). ``run`` measures every point with every
seed in the simulator, ``reduce`` turns rows into findings, ``plot`` into a picture, ``report`` keeps what came out, and
``compare`` holds it against what was published. Each step reads what the one before has left.
"""
