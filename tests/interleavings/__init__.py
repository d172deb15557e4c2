"""Two transactions at a time on a real PostgreSQL, stepped statement by statement through every order.

``stage``    lets two threads send one statement at a time, and sees who waits for whose lock
``cast``     the transactions: the real work of engines and people, and what each of them answers
``world``    the database that every order begins with, and what is left of it
``search``   goes through the orders of a pair and compares each with the two serial ones
``defects``  mistakes that no serial order shows, each of which must be caught

``python -m tests.interleavings`` goes through all pairs and prints a table.
"""
