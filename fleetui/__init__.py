"""FleetUI: a terminal monitor for proving fleets on rented GPU instances."""

__version__ = "0.1.0"
