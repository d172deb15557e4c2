"""HTTP requests that leave the process: the SSRF guard, signatures, webhooks and pings."""
