"""The clients' door, without I/O: MQTT 3.1.1 and 5.0 packets, sessions, and the door machine.

Bytes go in and come out; commands for the core go out and its deliveries come in. Sockets are the shell's.
"""
