import { Button, Group, Text, Title } from '@mantine/core'
import { Link, useRouter, type ErrorComponentProps } from '@tanstack/react-router'

import { messageOf } from '../api/problem'

/** What is shown in place of a view that could not be shown. */
export function Failed({ error, reset }: ErrorComponentProps) {
  const router = useRouter()
  const again = () => {
    reset()
    void router.invalidate()
  }
  return (
    <div role="alert" className="panel" style={{ padding: '1.5rem', margin: '2rem auto', maxWidth: '36rem' }}>
      <Title order={1}>This could not be shown</Title>
      <Text mt="xs">{messageOf(error)}</Text>
      <Group mt="md">
        <Button onClick={again}>Try again</Button>
        <Button variant="default" onClick={() => window.location.reload()}>
          Reload the page
        </Button>
      </Group>
    </div>
  )
}

export function NotThere() {
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
