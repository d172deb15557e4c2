import { Button, Skeleton, Text, Title } from '@mantine/core'
import type { ReactNode } from 'react'

import { messageOf, Problem } from '../api/problem'
import classes from './notes.module.css'

/** What stands where nothing is yet: why, and how something comes to be here. */
export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className={classes.empty}>
      <Title order={2}>{title}</Title>
      <div className={classes.teaching}>{children}</div>
    </div>
  )
}

/** What is wrong, and what to do about it. */
export function Wrong({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const hint = error instanceof Problem ? error.hint : undefined
  return (
    <div role="alert" className={`panel ${classes.wrong}`}>
      <Title order={2} size="h3">
        {messageOf(error)}
      </Title>
      {hint && <Text size="sm">{hint}</Text>}
      {onRetry && (
        <Button variant="default" mt="xs" onClick={onRetry}>
          Try again
        </Button>
      )}
    </div>
  )
}

export function Waiting({ lines = 6 }: { lines?: number }) {
  return (
    <div role="group" aria-busy="true" aria-label="Loading">
      {Array.from({ length: lines }, (_, at) => (
        <Skeleton key={at} height={18} mb={10} width={`${92 - ((at * 17) % 40)}%`} />
      ))}
    </div>
  )
}
