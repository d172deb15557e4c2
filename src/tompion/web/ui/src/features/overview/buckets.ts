import type { LoadBucket } from '../../api/types'

/** Put minutes together into so many stretches of so many seconds, from now on. */
export function mergeBuckets(minutes: readonly LoadBucket[], seconds: number, bucketCount: number): LoadBucket[] {
  const bucketMs = (seconds * 1_000) / bucketCount
  const sums = new Map<number, number>()
  for (const { start, fires } of minutes) {
    const at = Math.floor(Date.parse(start) / bucketMs) * bucketMs
    if (sums.size === bucketCount && !sums.has(at)) break
    sums.set(at, (sums.get(at) ?? 0) + fires)
  }
  return [...sums].map(([at, fires]) => ({ start: new Date(at).toISOString(), fires }))
}
