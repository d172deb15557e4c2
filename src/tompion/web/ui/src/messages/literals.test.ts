import ts from 'typescript'
import { expect, it } from 'vitest'

import { sources } from '../testing/sources'

/** Attributes whose values users read. */
const TEXT_ATTRIBUTES = new Set('alt aria-label cancelLabel confirmLabel description error label name title'.split(' '))
/** Two words with a space between them: text for people, and not a code or a class name. */
const PROSE = /\p{L}{2,},? \p{Ll}/u
/** Commands, CSS and examples of values are not translated. */
const IS_CODE = /^(tompion |curl |light-dark\(|color-mix\(|\w+=)|var\(--|system-ui|ui-monospace/

const attributeOf = (node: ts.Node): string | undefined =>
  ts.isJsxAttribute(node.parent) ? node.parent.name.getText() : undefined

/** Return the name of the attribute around a template: its parent is an expression in braces. */
const attributeOfTemplate = (node: ts.Node): string | undefined =>
  ts.isJsxExpression(node.parent) ? attributeOf(node.parent) : undefined

/** Names that are no text although they stand in an attribute such as `name`: of icons, inputs and fields. */
const isIdentifier = (text: string) => /^[a-z_]*$/.test(text)

/** Return the texts in a source file that belong into the message catalogue. */
function literals(path: string, text: string): string[] {
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true, ts.ScriptKind.TSX)
  const hits: string[] = []
  const visit = (node: ts.Node): void => {
    if (ts.isJsxText(node) && /\p{L}/u.test(node.text)) hits.push(node.text.trim())
    if (ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node)) {
      const isTextAttribute = TEXT_ATTRIBUTES.has(attributeOf(node) ?? '') && !isIdentifier(node.text)
      const isProse = PROSE.test(node.text) && !IS_CODE.test(node.text) && attributeOf(node) !== 'className'
      if (isTextAttribute || isProse) hits.push(node.text)
    }
    if (ts.isTemplateExpression(node) && attributeOfTemplate(node) !== 'className') {
      const parts = [node.head.text, ...node.templateSpans.map((span) => span.literal.text)]
      const isTextAttribute = TEXT_ATTRIBUTES.has(attributeOfTemplate(node) ?? '') && /\p{L}{2}/u.test(parts.join(''))
      const isProse = parts.some((part) => PROSE.test(part)) && !parts.some((part) => IS_CODE.test(part))
      if (isTextAttribute || isProse) hits.push(node.getText())
    }
    ts.forEachChild(node, visit)
  }
  visit(file)
  return hits
}

it.each([
  ['const a = <p>Hello</p>', ['Hello']],
  ['const a = <p title="Close">{x}</p>', ['Close']],
  ["const a = 'This is text'", ['This is text']],
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the text of a source
  ['const a = `${id} was deleted`', ['`${id} was deleted`']],
  ['const a = <Icon name="cross" className="a b" label={t(\'x\')} />', []],
  ["const a = <code>{'tompion keys create NAME'}</code>", []],
])('finds the texts in %s', (source, texts) => expect(literals('a.tsx', source)).toEqual(texts))

it('finds no text outside the message catalogue', () => {
  const hits = Object.entries(sources()).flatMap(([path, text]) => literals(path, text).map((hit) => `${path}: ${hit}`))
  expect(hits).toEqual([])
})
