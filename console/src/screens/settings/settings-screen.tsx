import { useQueryClient } from '@tanstack/react-query'
import { useMe } from '../../api/queries.ts'
import { keepToken, readToken } from '../../api/token.ts'
import type { Me } from '../../api/types.ts'
import { plainText } from '../../lib/plain-text.ts'
import { theme, usePreference, zone } from '../../lib/preferences.ts'
import { TokenForm } from '../../shell/sign-in.tsx'
import { SignOut } from '../../shell/sign-out.tsx'
import { Button } from '../../ui/buttons.tsx'
import { Segments } from '../../ui/fields.tsx'
import { ErrorNote, Loading } from '../../ui/notes.tsx'
import { Facts, Page, Panel } from '../../ui/page.tsx'
import { MaskSettings } from './masks.tsx'
import { Permissions } from './permissions.tsx'
import { TraceAddress } from './trace-address.tsx'

export function SettingsScreen() {
  const { data, error, refetch } = useMe()
  return (
    <Page name="Settings" lead="Your identity and permissions, and the display options of this browser.">
      {error && <ErrorNote error={error} onRetry={refetch} />}
      {data === undefined ? (
        !error && <Loading rows={8} />
      ) : (
        <div className="halves">
          <div className="stack">
            <Panel title="Identity">
              <div className="stack">
                <WhoIAm me={data} />
                <SignOut me={data} />
              </div>
            </Panel>
            <Looks />
            <Panel title="Masks">
              <MaskSettings />
            </Panel>
            <Panel title="Traces">
              <TraceAddress />
            </Panel>
            <Panel title="Token">
              <Token me={data} />
            </Panel>
          </div>
          <Panel title="Permissions" bare>
            <Permissions me={data} />
          </Panel>
        </div>
      )}
    </Page>
  )
}

const SIGNED_IN: Readonly<Record<Me['signIn'], string>> = {
  local: 'not needed: only this machine reaches the server',
  token: 'by a token',
  oidc: 'by OpenID Connect',
  proxy: 'by the proxy before this server',
}

function WhoIAm({ me }: { me: Me }) {
  return (
    <Facts
      of={[
        ['name', plainText(me.name)],
        ['role', me.role],
        ['signed in', SIGNED_IN[me.signIn]],
        [
          'changes',
          me.readOnly ? 'not allowed: the server is read-only' : 'allowed, as listed under Permissions',
        ],
        ['replays', me.needsApproval ? 'need approval by a second person' : 'need no approval'],
        ...me.stores.map(({ name, url }) => [`store ${name}`, plainText(url)] as const),
        ['version', me.version],
      ]}
    />
  )
}

function Looks() {
  const chosenTheme = usePreference(theme)
  const chosenZone = usePreference(zone)
  return (
    <Panel title="Appearance">
      <div className="stack">
        <div className="row">
          <span className="setting">Theme</span>
          <Segments
            label="Theme"
            value={chosenTheme}
            of={[
              ['system', 'System'],
              ['light', 'Light'],
              ['dark', 'Dark'],
            ]}
            onChange={chosen => theme.set(chosen)}
          />
        </div>
        <div className="row">
          <span className="setting">Times</span>
          <Segments
            label="Times"
            value={chosenZone}
            of={[
              ['utc', 'UTC'],
              ['local', 'Local'],
            ]}
            onChange={chosen => zone.set(chosen)}
          />
        </div>
      </div>
    </Panel>
  )
}

function Token({ me }: { me: Me }) {
  const client = useQueryClient()
  const hasToken = readToken() !== undefined
  return (
    <div className="stack">
      <p className="quiet small">
        {hasToken
          ? 'This tab uses a token.'
          : me.signIn === 'local'
            ? 'This tab has no token: the server identifies you by your network address.'
            : 'This tab has no token: you have signed in. A token would take the place of your account.'}
      </p>
      <TokenForm />
      {hasToken && (
        <div className="row">
          <Button
            onPress={() => {
              keepToken(undefined)
              void client.resetQueries()
            }}
          >
            Remove token
          </Button>
        </div>
      )}
    </div>
  )
}
