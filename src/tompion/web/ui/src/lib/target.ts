/** The fields of a schedule that name an executor and its options. */
export const EXECUTOR_FIELDS = [
  'command',
  'http',
  'celery',
  'temporal',
  'nats',
  'redis',
  'rabbitmq',
  'postgres',
] as const

type Fields = Readonly<Record<string, unknown>>

/** Return the executor field of a definition with its value, or undefined if it runs a function or a workflow. */
export function executorTarget(definition: Fields): Record<string, unknown> | undefined {
  const field = EXECUTOR_FIELDS.find((name) => definition[name] !== undefined && definition[name] !== null)
  return field === undefined ? undefined : { [field]: definition[field] }
}

/** Return a definition with another executor field. Without one, it has none. */
export function withExecutorTarget<T extends Fields>(definition: T, target: Fields = {}): T {
  const others = Object.entries(definition).filter(([name]) => !(EXECUTOR_FIELDS as readonly string[]).includes(name))
  return { ...Object.fromEntries(others), ...target } as unknown as T
}

/** Parse an executor field from JSON. Return undefined if it is not an object with one such field. */
export function readExecutorTarget(text: string): Record<string, unknown> | undefined {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  if (typeof value !== 'object' || value === null) return undefined
  const names = Object.keys(value)
  const isTarget = names.length === 1 && (EXECUTOR_FIELDS as readonly string[]).includes(names[0] ?? '')
  return isTarget ? (value as Record<string, unknown>) : undefined
}

/** Describe what a definition runs in a few words, such as "celery shop.close_day". */
export function targetText(definition: Fields): string | undefined {
  const name = definition.workflow_id ?? definition.function
  if (typeof name === 'string') return name
  const [field, value] = Object.entries(executorTarget(definition) ?? {})[0] ?? []
  if (field === undefined) return undefined
  if (typeof value !== 'object' || value === null) return `${field} ${String(value)}`
  const options = value as Record<string, unknown>
  const names = ['url', 'task', 'workflow', 'subject', 'stream', 'queue', 'exchange', 'table', 'function']
  const known = names.map((option) => options[option]).find((option) => typeof option === 'string')
  return known === undefined ? field : `${field} ${String(known)}`
}
