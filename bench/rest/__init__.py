"""The benchmark of the REST service, beside a bare FastAPI application of the same shape."""
