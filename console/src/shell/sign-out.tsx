import { useState } from 'react'
import { signOut } from '../api/identity.ts'
import type { Me } from '../api/types.ts'
import { Button } from '../ui/buttons.tsx'

/** A person whom a proxy has signed in signs out there. A caller on the machine of the server has not signed in. */
export function SignOut({ me }: { me: Me }) {
  const [isBusy, setBusy] = useState(false)
  if (me.signIn !== 'oidc' && me.signIn !== 'token') return null
  function leave() {
    setBusy(true)
    signOut(me.signIn).catch(() => setBusy(false))
  }
  return (
    <Button busy={isBusy} onPress={leave}>
      Sign out
    </Button>
  )
}
