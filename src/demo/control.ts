import { type DemoControl, UnknownActionError } from '../server/demo-control.ts'
import type { DemoState, DemoStep } from '../server/schema/demo.ts'
import type { Scenario } from './scenario.ts'
import { type Action, STEPS, type Step } from './steps.ts'

const TITLE = 'A shop on a bad day'

/** What a person can make happen: the label of the button, what it does, and when it can be pressed [always]. */
type Button = readonly [label: string, press: (by: string) => Promise<void> | void, isEnabled?: () => boolean]

/** The demo's own buttons: what the story has shown so far, and what a person can make happen in it. */
export function demoControl(scenario: Scenario, seed: number): DemoControl {
  const { payments, services, tracking } = scenario.shop
  const { warehouse } = services
  const { analytics } = tracking
  const canReplay = () => scenario.milestones.brokenGroup !== undefined && !scenario.isReplaying
  const buttons: Readonly<Record<Action, Button>> = {
    fix: ['Ship the fix', () => scenario.ship('2.4.1'), () => payments.release === '2.4.0'],
    break: ['Ship the broken release', () => scenario.ship('2.4.0'), () => payments.release !== '2.4.0'],
    'break-warehouse': [
      'Make the warehouse fail',
      () => scenario.setHealth('warehouse', 'failing'),
      () => !warehouse.isFailing,
    ],
    'fix-warehouse': [
      'Heal the warehouse',
      () => scenario.setHealth('warehouse', 'healthy'),
      () => warehouse.isFailing,
    ],
    'break-analytics': [
      'Make analytics fail',
      () => scenario.setHealth('analytics', 'failing'),
      () => !analytics.isFailing,
    ],
    'fix-analytics': [
      'Heal analytics',
      () => scenario.setHealth('analytics', 'healthy'),
      () => analytics.isFailing,
    ],
    burst: ['Let everyone in at once', () => scenario.burst()],
    'send-poison': ['Send a poison order', () => scenario.place('impossible-date')],
    'send-wrong-shape': ['Send an order of the wrong shape', () => scenario.place('wrong-shape')],
    'send-bad-address': ['Send to a bad address', () => scenario.place('bad-address')],
    'replay-payments': [
      'Replay the failed payments',
      by => scenario.startReplay(by, 'asked for in the demo'),
      canReplay,
    ],
  }

  function actionOf(id: Action) {
    const [label, , isEnabled = () => true] = buttons[id]
    return { id, label, enabled: isEnabled() }
  }

  function stepOf({ id, title, text, action, href }: Step): DemoStep {
    const { brokenGroup } = scenario.milestones
    return {
      id,
      title,
      text,
      done: scenario.milestones.has(id),
      href: brokenGroup === undefined ? href.replace('/{group}', '') : href.replace('{group}', brokenGroup),
      ...(action && { action: actionOf(action) }),
    }
  }

  const control: DemoControl = {
    state: (): DemoState => ({
      title: TITLE,
      steps: STEPS.map(stepOf),
      facts: {
        seed,
        release: payments.release,
        warehouse: warehouse.isFailing ? 'failing' : 'healthy',
        analytics: analytics.isFailing ? 'failing' : 'healthy',
        startedAt: new Date(scenario.startedAt).toISOString(),
      },
    }),
    async act(action, by) {
      if (!Object.hasOwn(buttons, action)) throw new UnknownActionError(action, Object.keys(buttons))
      const [, press] = buttons[action as Action]
      await press(by)
      await scenario.recordAction(`demo.${action}`, by)
      return control.state()
    },
  }
  return control
}
