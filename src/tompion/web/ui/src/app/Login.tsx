import { Button, PasswordInput, Text, Title } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { errorMessage } from '../api/errors'
import { signIn } from '../api/requests'
import { replaceSession } from '../api/session'
import { rich, t } from '../messages'
import classes from './Login.module.css'
import { Logo } from './Logo'

const CREATE_KEY_COMMAND = 'tompion keys create NAME --role operator'

/** The sign-in form. The server stores the credential in a cookie that scripts can not read. */
export function Login() {
  const queries = useQueryClient()
  const [credential, setCredential] = useState('')
  const login = useMutation({
    mutationFn: () => signIn(credential),
    onSuccess: (session) => replaceSession(queries, session),
  })
  return (
    <main className={classes.page}>
      <form
        className={`panel ${classes.form}`}
        onSubmit={(event) => {
          event.preventDefault()
          login.mutate()
        }}
      >
        <div className={classes.head}>
          <Logo size={28} />
          <Title order={1}>{t('app.name')}</Title>
        </div>
        <PasswordInput
          label={t('login.credential')}
          description={t('login.credentialHelp')}
          value={credential}
          onChange={(event) => setCredential(event.currentTarget.value)}
          error={login.isError ? errorMessage(login.error) : undefined}
          autoComplete="current-password"
          autoFocus
          required
        />
        <Button type="submit" loading={login.isPending} fullWidth size="sm">
          {t('login.signIn')}
        </Button>
        <Text size="xs" className="dim">
          {rich('login.needKey', { command: <code>{CREATE_KEY_COMMAND}</code> })}
        </Text>
      </form>
    </main>
  )
}
