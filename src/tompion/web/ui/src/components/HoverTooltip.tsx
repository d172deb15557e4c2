import { Tooltip } from '@mantine/core'
import { type ReactNode, useRef, useState } from 'react'

interface Props {
  label: () => ReactNode
  /** Whether keyboard and touch can open it. Set it if the text is shown nowhere else. */
  focusable?: boolean
  children: ReactNode
}

/** A tooltip that is created on hover or focus, because a list has hundreds of them. */
export function HoverTooltip({ label, focusable = false, children }: Props) {
  const [isOpen, setIsOpen] = useState(false)
  const target = useRef<HTMLSpanElement>(null)
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: hover and focus only open the tooltip
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
