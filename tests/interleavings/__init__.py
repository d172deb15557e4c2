"""Pairs of concurrent transactions on a real PostgreSQL, interleaved statement by statement.

``stepper``           lets two threads send one statement at a time, and detects which of them waits for a lock
``transactions``      the transaction types: the real work of engines and users
``initial_database``  the database at the start of every order, and its rows at the end
``search``            runs the orders of a pair and compares each with the two serial ones
``defects``           planted defects that no serial order shows, and that the search must detect

``python -m tests.interleavings`` runs all pairs and prints a table.
"""
