import { Button, Group, Text, Title } from '@mantine/core'
import { type ErrorComponentProps, Link, useRouter } from '@tanstack/react-router'
import { errorMessage } from '../api/errors'
import { rich, t } from '../messages'

/** Shown in place of a view that failed to render or to load. */
export function RouteError({ error, reset }: ErrorComponentProps) {
  const router = useRouter()
  const retry = () => {
    reset()
    void router.invalidate()
  }
  return (
    <div role="alert" className="panel centered-panel">
      <Title order={1}>{t('error.title')}</Title>
      <Text mt="xs">{errorMessage(error)}</Text>
      <Group mt="md">
        <Button onClick={retry}>{t('common.tryAgain')}</Button>
        <Button variant="default" onClick={() => window.location.reload()}>
          {t('common.reload')}
        </Button>
      </Group>
    </div>
  )
}

export function NotFound() {
  return (
    <div className="panel centered-panel">
      <Title order={1}>{t('error.pageNotFound')}</Title>
      <Text mt="xs">
        {rich('error.checkUrl', {
          schedules: (
            <Link to="/schedules" className="text-link">
              {t('nav.schedules')}
            </Link>
          ),
        })}
      </Text>
    </div>
  )
}
