"""The use cases: one function and one transaction each, called alike by REST, gRPC, the CLI and Python."""
