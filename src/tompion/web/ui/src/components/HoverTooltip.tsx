import { Tooltip } from '@mantine/core'
import { useRef, useState, type ReactNode } from 'react'

interface Props {
  label: () => ReactNode
  /** It can be reached with the keyboard and by touch, too: for what is said nowhere else. */
  focusable?: boolean
  children: ReactNode
}

/** What is said of something while the pointer or the focus is on it; it costs nothing before: lists have hundreds of these. */
export function HoverTooltip({ label, focusable = false, children }: Props) {
  const [isOpen, setIsOpen] = useState(false)
  const target = useRef<HTMLSpanElement>(null)
  return (
    <span
      ref={target}
      tabIndex={focusable ? 0 : undefined}
      onMouseEnter={() => setIsOpen(true)}
      onMouseLeave={() => setIsOpen(false)}
      onFocus={() => setIsOpen(true)}
      onBlur={() => setIsOpen(false)}
      onKeyDown={(event) => event.key === 'Escape' && setIsOpen(false)}
    >
      {children}
      {isOpen && <Tooltip target={target} label={label()} opened />}
    </span>
  )
}
