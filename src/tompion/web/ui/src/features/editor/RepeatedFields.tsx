import { ActionIcon, Button } from '@mantine/core'
import type { ReactNode } from 'react'

import { Icon } from '../../components/Icon'
import classes from './Editor.module.css'

interface Props<T> {
  /** What one of them is called. */
  name: string
  items: T[]
  /** What another one is at first. */
  fresh: T
  onChange: (items: T[]) => void
  children: (item: T, at: number, change: (changed: T) => void) => ReactNode
}

/** One row for each of several things of a kind: each can be changed and removed, and another one added. */
export function Rows<T>({ name, items, fresh, onChange, children }: Props<T>) {
  return (
    <div className={classes.source}>
      {items.map((item, at) => (
        <div key={at} className={classes.row}>
          <div className={classes.grow}>{children(item, at, (changed) => onChange(items.map((each, number) => (number === at ? changed : each))))}</div>
          <ActionIcon aria-label={`Remove ${name} ${at + 1}`} onClick={() => onChange(items.filter((_, number) => number !== at))}>
            <Icon name="cross" size={14} />
          </ActionIcon>
        </div>
      ))}
      {items.length > 0 && <Add onClick={() => onChange([...items, fresh])}>{`Another ${name}`}</Add>}
    </div>
  )
}

export function Add({ onClick, children }: { onClick: () => void; children: string }) {
  return (
    <Button size="compact-xs" variant="default" leftSection={<Icon name="plus" size={12} />} onClick={onClick}>
      {children}
    </Button>
  )
}
