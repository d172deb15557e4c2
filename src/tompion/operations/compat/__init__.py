"""Operations in the shape of other systems: Temporal and the earlier services."""
