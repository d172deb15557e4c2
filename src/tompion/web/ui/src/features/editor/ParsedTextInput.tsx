import { Textarea, TextInput } from '@mantine/core'
import { useState } from 'react'

interface Props {
  label: string
  about?: string
  placeholder?: string
  wrong?: string
  /** What stands there at first; from then on, what was typed does. */
  first: string
  onType: (text: string) => void
  lines?: boolean
}

/** Text that means something else than itself: what was typed stays as it is, whatever is made of it. */
export function Typed({ label, about, placeholder, wrong, first, onType, lines = false }: Props) {
  const [typed, setTyped] = useState(first)
  const type = (text: string) => {
    setTyped(text)
    onType(text)
  }
  const shared = { label, description: about, placeholder, error: wrong, value: typed }
  return lines ? (
    <Textarea {...shared} autosize minRows={2} maxRows={10} spellCheck={false} classNames={{ input: 'mono' }} onChange={(event) => type(event.currentTarget.value)} />
  ) : (
    <TextInput {...shared} onChange={(event) => type(event.currentTarget.value)} />
  )
}
