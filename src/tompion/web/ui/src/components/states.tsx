import { Button, Skeleton, Text, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link, useLocation } from '@tanstack/react-router'
import type { ReactNode } from 'react'

import { errorHint, isNotFound, errorMessage } from '../api/errors'
import type { Role } from '../api/types'
import { sessionQuery } from '../api/session'
import { NAVIGATION } from '../app/navigation'
import { useTitle } from './PageHeader'
import classes from './states.module.css'

/** What stands where nothing is yet: why, and how something comes to be here. */
export function EmptyState({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className={classes.empty}>
      <Title order={2}>{title}</Title>
      <div className={classes.teaching}>{children}</div>
    </div>
  )
}

/** What an address says to whoever may not do what it is for. */
export function NoAccess({ title, role }: { title: string; role: Role }) {
  const { data: session } = useQuery(sessionQuery)
  useTitle(title)
  return (
    <EmptyState title={title}>
      <p>
        {session?.read_only
          ? 'This service is read-only: it shows everything, and changes nothing.'
          : `This needs the role ${role} in this namespace. Whoever runs the service can make a key that has it.`}
      </p>
      <Link to="/schedules" className="text-link">
        All schedules
      </Link>
    </EmptyState>
  )
}

/** What is wrong, and what to do about it. */
export function ErrorState({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const hint = errorHint(error)
  const { pathname } = useLocation()
  const section = NAVIGATION.find(({ to }) => to !== '/' && pathname.startsWith(to))
  const isMissing = isNotFound(error)
  return (
    <div role="alert" className={`panel ${classes.wrong}`}>
      <Title order={2} size="h3">
        {errorMessage(error)}
      </Title>
      {hint && <Text size="sm">{hint}</Text>}
      {isMissing && (
        <Text size="sm">
          It may have been deleted, or it is in another namespace.{' '}
          {section && (
            <>
              Look for it under{' '}
              <Link to={section.to} className="text-link">
                {section.label}
              </Link>
              .
            </>
          )}
        </Text>
      )}
      {onRetry && !isMissing && (
        <Button variant="default" mt="xs" onClick={onRetry}>
          Try again
        </Button>
      )}
    </div>
  )
}

export function Loading({ lines = 6 }: { lines?: number }) {
  return (
    <div role="group" aria-busy="true" aria-label="Loading">
      {Array.from({ length: lines }, (_, at) => (
        <Skeleton key={at} height={18} mb={10} width={`${92 - ((at * 17) % 40)}%`} />
      ))}
    </div>
  )
}
