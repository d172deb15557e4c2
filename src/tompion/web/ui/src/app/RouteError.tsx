import { Button, Group, Text, Title } from '@mantine/core'
import { Link, useRouter, type ErrorComponentProps } from '@tanstack/react-router'

import { errorMessage } from '../api/errors'

/** What is shown in place of a view that could not be shown. */
export function RouteError({ error, reset }: ErrorComponentProps) {
  const router = useRouter()
  const retry = () => {
    reset()
    void router.invalidate()
  }
  return (
    <div role="alert" className="panel" style={{ padding: '1.5rem', margin: '2rem auto', maxWidth: '36rem' }}>
      <Title order={1}>This could not be shown</Title>
      <Text mt="xs">{errorMessage(error)}</Text>
      <Group mt="md">
        <Button onClick={retry}>Try again</Button>
        <Button variant="default" onClick={() => window.location.reload()}>
          Reload the page
        </Button>
      </Group>
    </div>
  )
}

export function NotFound() {
  return (
    <div className="panel" style={{ padding: '1.5rem', margin: '2rem auto', maxWidth: '36rem' }}>
      <Title order={1}>There is nothing at this address</Title>
      <Text mt="xs">
        Perhaps it was mistyped. All schedules are{' '}
        <Link to="/schedules" className="text-link">
          here
        </Link>
        .
      </Text>
    </div>
  )
}
