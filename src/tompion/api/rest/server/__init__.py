"""Extensions of uvicorn: slow clients and TLS client certificates."""
