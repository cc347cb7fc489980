import { useQueryClient } from '@tanstack/react-query'
import { useMe } from '../../api/queries.ts'
import { keepToken, readToken } from '../../api/token.ts'
import type { Me } from '../../api/types.ts'
import { plainText } from '../../lib/plain-text.ts'
import { theme, usePreference, zone } from '../../lib/preferences.ts'
import { TokenForm } from '../../shell/sign-in.tsx'
import { Button } from '../../ui/buttons.tsx'
import { Segments } from '../../ui/fields.tsx'
import { ErrorNote, Loading } from '../../ui/notes.tsx'
import { Facts, Page, Panel } from '../../ui/page.tsx'
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
              <WhoIAm me={data} />
            </Panel>
            <Looks />
            <Panel title="Traces">
              <TraceAddress />
            </Panel>
            <Panel title="Token">
              <Token />
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

function WhoIAm({ me }: { me: Me }) {
  return (
    <Facts
      of={[
        ['name', plainText(me.name)],
        ['role', me.role],
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

function Token() {
  const client = useQueryClient()
  const hasToken = readToken() !== undefined
  return (
    <div className="stack">
      <p className="quiet small">
        {hasToken
          ? 'This tab uses a token.'
          : 'This tab has no token: the server identifies you by your network address.'}
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
