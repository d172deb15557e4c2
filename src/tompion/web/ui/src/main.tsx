import { MutationCache, notifyManager, QueryCache, QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { MantineProvider } from '@mantine/core'
import { setNonce } from 'get-nonce'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'

import '@mantine/core/styles/baseline.layer.css'
import '@mantine/core/styles/default-css-variables.layer.css'
import '@mantine/core/styles/global.layer.css'
import './app/app.css'
import { isRetryable, ApiError } from './api/errors'
import { revalidateSession } from './api/session'
import { makeRouter, preloadViews } from './app/router'
import { theme } from './app/theme'

// Styles that are made while the page runs carry the number that the policy of this very answer allows.
const nonce = document.querySelector<HTMLMetaElement>('meta[property=csp-nonce]')?.nonce ?? ''
setNonce(nonce)

// What was answered is shown at once, and not after whatever else the browser has to do.
notifyManager.setScheduler(queueMicrotask)

// The browser lets nobody make elements or scripts of text. Styles are text too, and hold no elements: those pass.
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
