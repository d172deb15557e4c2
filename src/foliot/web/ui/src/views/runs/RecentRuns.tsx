export function RecentRuns() { return null }
