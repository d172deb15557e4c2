import { Title } from '@mantine/core'
import { useEffect, type ReactNode } from 'react'

import classes from './PageHeader.module.css'

/** The head of a view: its name, which is also that of the window, and what can be done there. */
export function PageHeader({ title, note, children }: { title: string; note?: ReactNode; children?: ReactNode }) {
  useTitle(title)
  return (
    <div className={classes.head}>
      <Title order={1}>{title}</Title>
      {note && <span className="dim">{note}</span>}
      <div className={classes.actions}>{children}</div>
    </div>
  )
}

export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Tompion`
  }, [title])
}
