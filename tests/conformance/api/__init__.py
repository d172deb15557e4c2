"""Tests of the network interfaces and their clients."""
