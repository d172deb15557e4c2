import { Fragment, type ReactNode } from 'react'

import { en } from './en'

/** The locale of numbers and dates. It belongs to the catalogue. */
export const LOCALE = 'en-GB'

type Catalogue = typeof en
export type MessageKey = keyof Catalogue
type Template<Key extends MessageKey> = Catalogue[Key] extends { other: infer Text } ? Text : Catalogue[Key]
type Placeholder<Text> = Text extends `${string}{${infer Name}}${infer Rest}` ? Name | Placeholder<Rest> : never
type Values<Key extends MessageKey, Value> = { [Name in Placeholder<Template<Key>>]: Value }
type Arguments<Key extends MessageKey, Value> = [Placeholder<Template<Key>>] extends [never]
  ? []
  : [values: Values<Key, Value>]

const plurals = new Intl.PluralRules('en')
const numbers = new Intl.NumberFormat(LOCALE)
const PLACEHOLDER = /\{(\w+)\}/
const PLACEHOLDERS = /\{(\w+)\}/g

/** Format a number with the separators of the locale: "12,345". */
export const numberText = (value: number): string => numbers.format(value)

/** Return the text of a message before its values are filled in. A message with a count has one text per plural form. */
function template(key: MessageKey, values: Record<string, unknown>): string {
  const message: string | { one: string; other: string } = en[key]
  if (typeof message === 'string') return message
  return plurals.select(Number(values.count)) === 'one' ? message.one : message.other
}

const valueText = (value: unknown): string => (typeof value === 'number' ? numberText(value) : String(value))

/** Return the text of a message in the catalogue, with its values filled in. */
export function t<Key extends MessageKey>(key: Key, ...[values]: Arguments<Key, string | number>): string {
  const fields: Record<string, unknown> = values ?? {}
  return template(key, fields).replaceAll(PLACEHOLDERS, (_, name: string) => valueText(fields[name]))
}

/** Return the elements of a message: like `t`, but a value can be an element, such as a link or a time. */
export function rich<Key extends MessageKey>(key: Key, ...[values]: Arguments<Key, ReactNode>): ReactNode {
  const fields: Record<string, ReactNode> = values ?? {}
  return template(key, fields)
    .split(PLACEHOLDER)
    .map((part, index) => {
      const value = index % 2 === 0 ? part : fields[part]
      // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a message never change their order
      return <Fragment key={index}>{typeof value === 'number' ? numberText(value) : value}</Fragment>
    })
}

/** The groups of messages that name codes of the API, such as the state of a run. */
export type CodeGroup =
  | 'backfillState'
  | 'catchup'
  | 'instanceKind'
  | 'operation'
  | 'overlap'
  | 'role'
  | 'runReason'
  | 'runSource'
  | 'runState'
  | 'scheduleState'
  | 'severity'

/** Return the message for a code of the API, or the code itself if the catalogue does not have it. */
export function codeText(group: CodeGroup, code: string): string {
  const message: unknown = (en as Record<string, unknown>)[`${group}.${code}`]
  return typeof message === 'string' ? message : code
}

/** Return the codes of a group, in the order of the catalogue. */
export function codesOf(group: CodeGroup): string[] {
  return Object.keys(en)
    .filter((key) => key.startsWith(`${group}.`))
    .map((key) => key.slice(group.length + 1))
}
