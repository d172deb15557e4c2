import { ActionIcon, Button } from '@mantine/core'
import type { ReactNode } from 'react'

import { Icon } from '../../components/Icon'
import classes from './Editor.module.css'

interface Props<T> {
  /** What one of them is called. */
  name: string
  items: T[]
  /** What another one is at first. */
  newItem: T
  onChange: (items: T[]) => void
  children: (item: T, at: number, change: (changed: T) => void) => ReactNode
}

/** One row for each of several things of a kind: each can be changed and removed, and another one added. */
export function RepeatedFields<T>({ name, items, newItem, onChange, children }: Props<T>) {
  return (
    <div className={classes.source}>
      {items.map((item, at) => (
        <div key={at} className={classes.row}>
          <div className={classes.grow}>{children(item, at, (changed) => onChange(items.map((item, number) => (number === at ? changed : item))))}</div>
          <ActionIcon aria-label={`Remove ${name} ${at + 1}`} onClick={() => onChange(items.filter((_, number) => number !== at))}>
            <Icon name="cross" size={14} />
          </ActionIcon>
        </div>
      ))}
      {items.length > 0 && <AddButton onClick={() => onChange([...items, newItem])}>{`Another ${name}`}</AddButton>}
    </div>
  )
}

export function AddButton({ onClick, children }: { onClick: () => void; children: string }) {
  return (
    <Button size="compact-xs" variant="default" leftSection={<Icon name="plus" size={12} />} onClick={onClick}>
      {children}
    </Button>
  )
}
