import { Fragment, type ReactNode } from 'react'

import { en } from './en'

/** The locale of numbers and dates; one catalogue belongs to each. */
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
const PLACEHOLDER = /\{(\w+)\}/

/** A number with the separators of the locale: "12,345". */
export const numberText = (value: number): string => value.toLocaleString(LOCALE)

/** The text of a message before its values are filled in; a message with a count has one text for each plural form. */
function template(key: MessageKey, values: Record<string, unknown>): string {
  const message: string | { one: string; other: string } = en[key]
  if (typeof message === 'string') return message
  return plurals.select(Number(values.count)) === 'one' ? message.one : message.other
}

const valueText = (value: unknown): string => (typeof value === 'number' ? numberText(value) : String(value))

/** The text of a message in the catalogue, with its values filled in. */
export function t<Key extends MessageKey>(key: Key, ...[values]: Arguments<Key, string | number>): string {
  const given: Record<string, unknown> = values ?? {}
  return template(key, given).replaceAll(new RegExp(PLACEHOLDER, 'g'), (_, name: string) => valueText(given[name]))
}

/** The elements of a message: as `t`, but a value can be an element, such as a link or a time. */
export function rich<Key extends MessageKey>(key: Key, ...[values]: Arguments<Key, ReactNode>): ReactNode {
  const given: Record<string, ReactNode> = values ?? {}
  const parts = template(key, given).split(PLACEHOLDER)
  return parts.map((part, index) => {
    const value = index % 2 === 0 ? part : given[part]
    return <Fragment key={index}>{typeof value === 'number' ? numberText(value) : value}</Fragment>
  })
}
