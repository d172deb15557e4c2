import { Button, Skeleton, Text, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link, useLocation } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { errorHint, errorMessage, isNotFound } from '../api/errors'
import { sessionQuery } from '../api/session'
import type { Role } from '../api/types'
import { NAVIGATION } from '../app/navigation'
import { codeText, rich, t } from '../messages'
import { useTitle } from './PageHeader'
import classes from './states.module.css'

/** Shown in place of an empty list: a title and what to do next. */
export function EmptyState({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className={classes.empty}>
      <Title order={2}>{title}</Title>
      <div className={classes.help}>{children}</div>
    </div>
  )
}

/** Shown in place of a view for which the user has no permission. */
export function NoAccess({ title, needs }: { title: string; needs: Role }) {
  const { data: session } = useQuery(sessionQuery)
  useTitle(title)
  return (
    <EmptyState title={title}>
      <p>{session?.read_only ? t('access.readOnly') : t('access.roleNeeded', { role: codeText('role', needs) })}</p>
      <Link to="/schedules" className="text-link">
        {t('common.seeSchedules')}
      </Link>
    </EmptyState>
  )
}

/** An error with its hint, and a button to retry. */
export function ErrorState({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const hint = errorHint(error)
  const { pathname } = useLocation()
  const section = NAVIGATION.find(({ to }) => to !== '/' && pathname.startsWith(to))
  const isMissing = isNotFound(error)
  return (
    <div role="alert" className={`panel ${classes.error}`}>
      <Title order={2} size="h3">
        {errorMessage(error)}
      </Title>
      {hint && <Text size="sm">{hint}</Text>}
      {isMissing && (
        <Text size="sm">
          {t('error.maybeDeleted')}{' '}
          {section &&
            rich('error.seeSection', {
              section: (
                <Link to={section.to} className="text-link">
                  {t(section.label)}
                </Link>
              ),
            })}
        </Text>
      )}
      {onRetry && !isMissing && (
        <Button variant="default" mt="xs" onClick={onRetry}>
          {t('common.tryAgain')}
        </Button>
      )}
    </div>
  )
}

export function Loading({ lines = 6 }: { lines?: number }) {
  return (
    <div role="group" aria-busy="true" aria-label={t('common.loading')}>
      {Array.from({ length: lines }, (_, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the lines are all alike
        <Skeleton key={at} height={18} mb={10} width={`${92 - ((at * 17) % 40)}%`} />
      ))}
    </div>
  )
}
