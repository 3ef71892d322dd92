"""reknit: a publish/subscribe network whose shape can change while events flow."""

__version__ = "0.1.0"
