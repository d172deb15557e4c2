"""Where everything durable lives: one contract, two drivers.

:mod:`tompion.store.base` is the contract: a :class:`~tompion.store.base.Store` runs a function inside one transaction,
and the :class:`~tompion.store.base.Transaction` it hands over has a method per statement.  The statements stand in
``sqlite/sql`` and ``postgres/sql`` under the same names; a driver only knows how to send one and how to send many.
"""
