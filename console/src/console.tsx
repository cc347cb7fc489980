import { QueryCache, QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { Router } from 'wouter'
import { ApiProblem } from './api/client.ts'
import { App } from './app.tsx'
import { BASE_PATH } from './lib/base-path.ts'
import './styles/tokens.css'
import './styles/base.css'
import './shell/shell.css'

const client = new QueryClient({
  queryCache: new QueryCache({
    onError(error, { queryKey: [first] }) {
      // A session that has ended shows the sign-in, wherever it is noticed.
      if (error instanceof ApiProblem && error.status === 401 && first !== 'me')
        void client.invalidateQueries({ queryKey: ['me'] })
    },
  }),
  defaultOptions: {
    queries: {
      staleTime: 2_000,
      // A machine without a network may still reach the server; and a request that waits would show nothing, not even an error.
      networkMode: 'always',
      // Unused data is dropped, so that a tab that stays open for a week stays small.
      gcTime: 60_000,
      retry: (failures, error) =>
        failures < 2 && (!(error instanceof ApiProblem) || error.status === 0 || error.status >= 500),
    },
  },
})

export function drawConsole(): void {
  createRoot(document.getElementById('console')!).render(
    <StrictMode>
      <QueryClientProvider client={client}>
        <Router base={BASE_PATH}>
          <App />
        </Router>
      </QueryClientProvider>
    </StrictMode>,
  )
}
