import type { Load } from '../../api/types'

/** Put minutes together into so many stretches of so many seconds, from now on. */
export function cut(minutes: readonly Load[], seconds: number, stretches: number): Load[] {
  const length = (seconds * 1_000) / stretches
  const found = new Map<number, number>()
  for (const { start, fires } of minutes) {
    const at = Math.floor(Date.parse(start) / length) * length
    if (found.size === stretches && !found.has(at)) break
    found.set(at, (found.get(at) ?? 0) + fires)
  }
  return [...found].map(([at, fires]) => ({ start: new Date(at).toISOString(), fires }))
}
