"""What several parts of the test suite share: stores, servers, waiting, constants, and plugins for pytest."""
