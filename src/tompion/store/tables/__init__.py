"""The statements of a transaction: one module per table, named like the ``.sql`` files of both dialects.

Every write names what it expects (key, state, fence). A row that is not as expected is not changed, and the method
returns which rows were.
"""
