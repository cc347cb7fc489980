import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { ApiProblem } from './api/client.ts'
import { App } from './app.tsx'
import { applyTheme } from './lib/preferences.ts'
import './styles/tokens.css'
import './styles/base.css'
import './shell/shell.css'

applyTheme()

const client = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 2_000,
      // What nobody looks at is let go, so that a tab left open for a week stays small.
      gcTime: 60_000,
      retry: (failures, error) =>
        failures < 2 && (!(error instanceof ApiProblem) || error.status === 0 || error.status >= 500),
    },
  },
})

createRoot(document.getElementById('console')!).render(
  <StrictMode>
    <QueryClientProvider client={client}>
      <App />
    </QueryClientProvider>
  </StrictMode>,
)
