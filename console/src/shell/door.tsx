import { useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { keepToken, readToken } from '../api/token.ts'
import { Button } from '../ui/buttons.tsx'
import { Field } from '../ui/fields.tsx'
import { Note } from '../ui/notes.tsx'

/** A server that asks for a token: nothing can be seen without it. */
export function Door() {
  const wasRefused = readToken() !== undefined
  return (
    <div className="door">
      <h1>Who is there?</h1>
      <p className="quiet">
        This server asks for a token. Whoever runs it can give you one; it is listed in its configuration by
        name and role.
      </p>
      {wasRefused && (
        <Note tone="signal">The token was not accepted. Type it again, or ask for a new one.</Note>
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
        hint="Kept in this tab only, until it is closed."
      />
      <div className="row">
        <Button type="submit" look="main">
          Enter
        </Button>
      </div>
    </form>
  )
}
