import { MantineProvider } from '@mantine/core'
import { MutationCache, notifyManager, QueryCache, QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { setNonce } from 'get-nonce'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'

import '@mantine/core/styles/baseline.layer.css'
import '@mantine/core/styles/default-css-variables.layer.css'
import '@mantine/core/styles/global.layer.css'
import './app/app.css'
import { ApiError, isRetryable } from './api/errors'
import { revalidateSession } from './api/session'
import { makeRouter, preloadViews } from './app/router'
import { theme } from './app/theme'

// Styles that are created at run time carry the nonce that the content security policy of this page allows.
const nonce = document.querySelector<HTMLMetaElement>('meta[property=csp-nonce]')?.nonce ?? ''
setNonce(nonce)

// Show answers at once, before other tasks of the browser.
notifyManager.setScheduler(queueMicrotask)

// Trusted Types: text never becomes elements or scripts. Styles contain no elements, so they pass.
interface TrustedTypes {
  createPolicy(name: string, rules: { createHTML: (text: string) => string | null }): unknown
}
const { trustedTypes } = window as { trustedTypes?: TrustedTypes }
trustedTypes?.createPolicy('default', { createHTML: (text) => (text.includes('<') ? null : text) })

const onError = (error: Error) => {
  if (error instanceof ApiError && error.status === 401) revalidateSession(queries)
}
const queries: QueryClient = new QueryClient({
  queryCache: new QueryCache({ onError }),
  mutationCache: new MutationCache({ onError }),
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      retry: (failures, error) => failures < 2 && isRetryable(error),
      refetchOnWindowFocus: true,
    },
  },
})
const router = makeRouter(queries)
const PRELOAD_DELAY_MS = 20_000

window.setTimeout(() => void preloadViews(), PRELOAD_DELAY_MS)

createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <MantineProvider theme={theme} defaultColorScheme="auto" getStyleNonce={() => nonce}>
      <QueryClientProvider client={queries}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
)
