import { Title } from '@mantine/core'
import { type ReactNode, useEffect } from 'react'
import { t } from '../messages'

import classes from './PageHeader.module.css'

/** The header of a view: its title, which is also the title of the window, and its actions. */
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
    document.title = t('app.windowTitle', { title })
  }, [title])
}
