export function Backfills() { return null }
