import type { ReactNode } from 'react'

import classes from './DescriptionList.module.css'

/** Names and values side by side. Entries without a value are left out. */
export function DescriptionList({ items }: { items: [name: string, value: ReactNode][] }) {
  return (
    <dl className={classes.facts}>
      {items
        .filter(([, value]) => value !== null && value !== undefined && value !== '' && value !== false)
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  )
}
