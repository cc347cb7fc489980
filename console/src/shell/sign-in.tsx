import { useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useEffect, useRef, useState } from 'react'
import { useSignIn } from '../api/queries.ts'
import { keepToken, readToken } from '../api/token.ts'
import type { SignIn as Kinds } from '../api/types.ts'
import { problemIn } from '../lib/sign-in-problem.ts'
import { Button } from '../ui/buttons.tsx'
import { Field } from '../ui/fields.tsx'
import { ErrorNote, Note } from '../ui/notes.tsx'

/** A server that wants to know who is there: nothing can be seen before. */
export function SignIn() {
  const { data: kinds, error, refetch } = useSignIn()
  const [problem] = useState(() => problemIn(location.hash))
  const wasRefused = readToken() !== undefined
  return (
    <main className="sign-in">
      <h1>Sign in</h1>
      {problem !== undefined && <Note tone="bad">{problem}</Note>}
      {wasRefused && (
        <Note tone="signal">The token was not accepted. Enter it again, or ask for a new one.</Note>
      )}
      {error && kinds === undefined && <ErrorNote error={error} onRetry={refetch} />}
      {kinds && <Ways kinds={kinds} />}
    </main>
  )
}

function Ways({ kinds: { oidc, token, proxy } }: { kinds: Kinds }) {
  return (
    <>
      {oidc && <ProviderLink label={oidc.label} path={oidc.path} />}
      {proxy && (
        <p className="quiet">
          A proxy signs people in to this server. Open the console at the address of the proxy.
        </p>
      )}
      {token && (
        <p className="quiet">
          {oidc || proxy ? 'Or use a token.' : 'This server requires a token.'} Its administrator can give you
          one; the server configuration lists tokens by name and role.
        </p>
      )}
      {token && <TokenForm />}
    </>
  )
}

/** Has the focus, so that Enter is all that a person has to press. Afterwards the browser is back at this address. */
function ProviderLink({ label, path }: { label: string; path: string }) {
  const link = useRef<HTMLAnchorElement>(null)
  useEffect(() => link.current?.focus(), [])
  const to = encodeURIComponent(location.pathname + location.search)
  return (
    <div className="row">
      <a ref={link} className="button main external-text" href={`${path}?to=${to}`}>
        Sign in with {label}
      </a>
    </div>
  )
}

export function TokenForm() {
  const client = useQueryClient()
  const [token, setToken] = useState('')
  function enter(event: FormEvent) {
    event.preventDefault()
    keepToken(token.trim())
    setToken('')
    void client.resetQueries()
  }
  return (
    <form className="stack" onSubmit={enter}>
      <Field
        label="Token"
        type="password"
        value={token}
        onChange={setToken}
        hint="Stored in this tab only, until you close it."
      />
      <div className="row">
        <Button type="submit" look="main">
          Sign in
        </Button>
      </div>
    </form>
  )
}
