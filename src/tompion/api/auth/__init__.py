"""Authentication of callers: API keys, JWT, client certificates and session cookies, for REST and gRPC alike."""
