"""The door that Temporal's own SDKs and command line can use: the schedule calls of its ``WorkflowService``, over gRPC.

``door`` knows the calls and who may make them, ``spec``, ``action``, ``wire`` and ``shown`` translate, ``status`` says
with which code an error is answered, and ``server`` listens.
"""
