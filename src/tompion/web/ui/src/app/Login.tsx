import { Button, PasswordInput, Text, Title } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'

import { unwrap, api } from '../api/client'
import { errorMessage } from '../api/errors'
import { replaceSession } from '../api/session'
import { Logo } from './Logo'
import classes from './Login.module.css'

/** Signing in with a key or a token; it is kept in a cookie that no script can read. */
export function Login() {
  const queries = useQueryClient()
  const [credential, setCredential] = useState('')
  const signIn = useMutation({
    mutationFn: () => unwrap(api.POST('/api/v1/session', { body: { credential } })),
    onSuccess: (session) => replaceSession(queries, session),
  })
  return (
    <main className={classes.page}>
      <form
        className={`panel ${classes.form}`}
        onSubmit={(event) => {
          event.preventDefault()
          signIn.mutate()
        }}
      >
        <div className={classes.head}>
          <Logo size={28} />
          <Title order={1}>Tompion</Title>
        </div>
        <PasswordInput
          label="API key or token"
          description="It begins with flt_, or with eyJ if it is a token."
          value={credential}
          onChange={(event) => setCredential(event.currentTarget.value)}
          error={signIn.isError ? errorMessage(signIn.error) : undefined}
          autoComplete="current-password"
          autoFocus
          required
        />
        <Button type="submit" loading={signIn.isPending} fullWidth size="sm">
          Sign in
        </Button>
        <Text size="xs" className="dim">
          No key yet? On the machine of the service: <code>tompion keys create NAME --role operator</code>
        </Text>
      </form>
    </main>
  )
}
