"""Many runs at a time: what they cost, whom they keep waiting, and whether they can be ended."""
