import { Tooltip } from '@mantine/core'
import { useState, type ReactNode } from 'react'

/** What is said of something while the pointer is on it; it costs nothing before: lists have hundreds of these. */
export function Hover({ label, children }: { label: () => ReactNode; children: ReactNode }) {
  const [on, setOn] = useState(false)
  return (
    <span onMouseEnter={() => setOn(true)} onMouseLeave={() => setOn(false)}>
      {on ? (
        <Tooltip label={label()} opened>
          <span>{children}</span>
        </Tooltip>
      ) : (
        children
      )}
    </span>
  )
}
