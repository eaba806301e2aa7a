"""Derivations: named laws that lead from a program to a µGraph, each step replayed before it is believed."""
