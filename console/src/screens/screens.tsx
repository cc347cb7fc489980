import { type ComponentType, lazy, useEffect } from 'react'
import { Redirect, Route, Switch } from 'wouter'
import { after } from '../lib/browser-clock.ts'
import { Empty } from '../ui/notes.tsx'
import { GroupsScreen } from './groups/groups-screen.tsx'
import { OverviewScreen } from './overview/overview-screen.tsx'

type Loader = () => Promise<unknown>
const loaders: Loader[] = []
const CALM_MS = 1_500

const GroupScreen = later(() => import('./group/group-screen.tsx'), 'GroupScreen')
const LettersScreen = later(() => import('./letters/letters-screen.tsx'), 'LettersScreen')
const LetterScreen = later(() => import('./letter/letter-screen.tsx'), 'LetterScreen')
const ReplaysScreen = later(() => import('./replays/replays-screen.tsx'), 'ReplaysScreen')
const PlanScreen = later(() => import('./plan/plan-screen.tsx'), 'PlanScreen')
const ReplayScreen = later(() => import('./replay/replay-screen.tsx'), 'ReplayScreen')
const ChannelsScreen = later(() => import('./channels/channels-screen.tsx'), 'ChannelsScreen')
const AuditScreen = later(() => import('./audit/audit-screen.tsx'), 'AuditScreen')
const SettingsScreen = later(() => import('./settings/settings-screen.tsx'), 'SettingsScreen')

/** The way in is in the first load; the screens behind it come when they are asked for, or when the page is calm. */
function later<Name extends string, Props>(
  load: () => Promise<{ readonly [N in Name]: ComponentType<Props> }>,
  name: Name,
) {
  loaders.push(load)
  return lazy(async () => ({ default: (await patiently(load))[name] }))
}

/** A server that is away for a moment does not break a screen; one that has another console by now does. */
async function patiently<T>(load: () => Promise<T>): Promise<T> {
  for (const waitMs of [1_000, 3_000, 6_000]) {
    try {
      return await load()
    } catch {
      await new Promise<void>(resume => after(waitMs, resume))
    }
  }
  return await load()
}

export function Screens() {
  useEffect(() => after(CALM_MS, () => void Promise.allSettled(loaders.map(load => load()))), [])
  return (
    <Switch>
      <Route path="/">
        <Redirect to="/groups" replace />
      </Route>
      <Route path="/overview" component={OverviewScreen} />
      <Route path="/groups" component={GroupsScreen} />
      <Route path="/groups/:id">{({ id }) => <GroupScreen key={id} id={id} />}</Route>
      <Route path="/letters" component={LettersScreen} />
      <Route path="/letters/:id">{({ id }) => <LetterScreen key={id} id={id} />}</Route>
      <Route path="/replays" component={ReplaysScreen} />
      <Route path="/replays/new" component={PlanScreen} />
      <Route path="/replays/:id">{({ id }) => <ReplayScreen key={id} id={id} />}</Route>
      <Route path="/channels" component={ChannelsScreen} />
      <Route path="/audit" component={AuditScreen} />
      <Route path="/settings" component={SettingsScreen} />
      <Route>
        <Empty title="There is no such screen">
          The address is wrong or old. Start again from the groups.
        </Empty>
      </Route>
    </Switch>
  )
}
