import { ActionIcon, Button } from '@mantine/core'
import type { ReactNode } from 'react'
import { Icon } from '../../components/Icon'
import { t } from '../../messages'
import classes from './Editor.module.css'

interface Props<T> {
  /** The name of one item, for buttons: "interval". */
  name: string
  items: T[]
  /** The value of a new item. */
  newItem: T
  onChange: (items: T[]) => void
  children: (item: T, at: number, change: (changed: T) => void) => ReactNode
}

/** One row per item, each with a button to remove it, and a button to add an item. */
export function RepeatedFields<T>({ name, items, newItem, onChange, children }: Props<T>) {
  return (
    <div className={classes.source}>
      {items.map((item, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the items have no identity but their position
        <div key={at} className={classes.row}>
          <div className={classes.grow}>
            {children(item, at, (changed) => onChange(items.map((item, number) => (number === at ? changed : item))))}
          </div>
          <ActionIcon
            aria-label={t('editor.remove', { item: name, number: at + 1 })}
            onClick={() => onChange(items.filter((_, number) => number !== at))}
          >
            <Icon name="cross" size={14} />
          </ActionIcon>
        </div>
      ))}
      {items.length > 0 && (
        <AddButton onClick={() => onChange([...items, newItem])}>{t('editor.add', { item: name })}</AddButton>
      )}
    </div>
  )
}

/** Return the label of an input in a row. The first one has no number. */
export const numbered = (label: string, at: number): string =>
  at === 0 ? label : t('timing.numbered', { name: label, number: at + 1 })

export function AddButton({ onClick, children }: { onClick: () => void; children: string }) {
  return (
    <Button size="compact-xs" variant="default" leftSection={<Icon name="plus" size={12} />} onClick={onClick}>
      {children}
    </Button>
  )
}
