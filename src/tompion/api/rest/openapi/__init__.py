"""The OpenAPI document: routes, schemas and examples."""
