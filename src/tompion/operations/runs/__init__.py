"""Operations on runs: read, start, cancel, retry, and the protocol of remote workers."""
