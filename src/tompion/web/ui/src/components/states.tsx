import { Button, Skeleton, Text, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link, useLocation } from '@tanstack/react-router'
import type { ReactNode } from 'react'

import { hintOf, isAbsent, messageOf } from '../api/problem'
import type { Role } from '../api/types'
import { visitQuery } from '../api/session'
import { PLACES } from '../app/navigation'
import { useTitle } from './PageHeader'
import classes from './states.module.css'

/** What stands where nothing is yet: why, and how something comes to be here. */
export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className={classes.empty}>
      <Title order={2}>{title}</Title>
      <div className={classes.teaching}>{children}</div>
    </div>
  )
}

/** What an address says to whoever may not do what it is for. */
export function Refused({ title, role }: { title: string; role: Role }) {
  const { data: visit } = useQuery(visitQuery)
  useTitle(title)
  return (
    <Empty title={title}>
      <p>
        {visit?.read_only
          ? 'This service is read-only: it shows everything, and changes nothing.'
          : `This needs the role ${role} in this namespace. Whoever runs the service can make a key that has it.`}
      </p>
      <Link to="/schedules" className="text-link">
        All schedules
      </Link>
    </Empty>
  )
}

/** What is wrong, and what to do about it. */
export function Wrong({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const hint = hintOf(error)
  const { pathname } = useLocation()
  const place = PLACES.find(({ to }) => to !== '/' && pathname.startsWith(to))
  const absent = isAbsent(error)
  return (
    <div role="alert" className={`panel ${classes.wrong}`}>
      <Title order={2} size="h3">
        {messageOf(error)}
      </Title>
      {hint && <Text size="sm">{hint}</Text>}
      {absent && (
        <Text size="sm">
          It may have been deleted, or it is in another namespace.{' '}
          {place && (
            <>
              Look for it under{' '}
              <Link to={place.to} className="text-link">
                {place.name}
              </Link>
              .
            </>
          )}
        </Text>
      )}
      {onRetry && !absent && (
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
