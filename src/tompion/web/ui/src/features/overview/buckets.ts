import type { LoadBucket } from '../../api/types'

/** Merge minutes into `bucketCount` buckets that cover the given seconds. */
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
