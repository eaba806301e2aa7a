"""Certificates: finds the steps that the independent checker replays, and writes them."""
