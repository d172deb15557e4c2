"""Durable storage: one contract and two drivers.

:mod:`tompion.store.base` is the contract. A :class:`~tompion.store.base.Store` runs a function inside one transaction
and passes it a :class:`~tompion.store.base.Transaction`, which has one method per statement. The statements are in
``sqlite/sql`` and ``postgres/sql`` under the same names. A driver only sends them.
"""
