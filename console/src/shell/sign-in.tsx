import { useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { keepToken, readToken } from '../api/token.ts'
import { Button } from '../ui/buttons.tsx'
import { Field } from '../ui/fields.tsx'
import { Note } from '../ui/notes.tsx'

/** A server that asks for a token: nothing can be seen without it. */
export function SignIn() {
  const wasRefused = readToken() !== undefined
  return (
    <div className="sign-in">
      <h1>Sign in</h1>
      <p className="quiet">
        This server requires a token. Its administrator can give you one; the server configuration lists
        tokens by name and role.
      </p>
      {wasRefused && (
        <Note tone="signal">The token was not accepted. Enter it again, or ask for a new one.</Note>
      )}
      <TokenForm />
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
