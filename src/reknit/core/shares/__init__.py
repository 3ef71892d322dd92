"""Groups of clients that share subscriptions: of all members in the network one gets each event."""
