"""The Temporal-compatible API: the schedule calls of Temporal's ``WorkflowService`` over gRPC, for its SDKs and CLI.

``server`` listens, ``dispatcher`` authorises calls and runs their handlers, ``schedule_service`` and ``system_service``
have the handlers, ``convert`` translates messages, and ``errors`` maps errors to gRPC codes.
"""
