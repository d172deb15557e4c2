import { Textarea, TextInput } from '@mantine/core'
import { useState } from 'react'

interface Props {
  label: string
  description?: string
  placeholder?: string
  error?: string
  /** The initial text. Later changes of it are ignored. */
  initialText: string
  onText: (text: string) => void
  multiline?: boolean
}

/** An input for text that is parsed. The text stays as it was typed. */
export function ParsedTextInput({
  label,
  description,
  placeholder,
  error,
  initialText,
  onText,
  multiline = false,
}: Props) {
  const [input, setInput] = useState(initialText)
  const change = (text: string) => {
    setInput(text)
    onText(text)
  }
  const props = { label, description, placeholder, error, value: input }
  return multiline ? (
    <Textarea
      {...props}
      autosize
      minRows={2}
      maxRows={10}
      spellCheck={false}
      classNames={{ input: 'mono' }}
      onChange={(event) => change(event.currentTarget.value)}
    />
  ) : (
    <TextInput {...props} onChange={(event) => change(event.currentTarget.value)} />
  )
}
