import {
  type DemoControl,
  type DemoState,
  type DemoStep,
  UnknownActionError,
} from '../server/demo-control.ts'
import type { Scenario, Service } from './scenario.ts'
import { type Action, STEPS, type Step } from './steps.ts'

const TITLE = 'A shop on a bad day'

/** A demo action: the label of its button, its effect, and when it is enabled [always]. */
type Button = readonly [label: string, press: (by: string) => Promise<void> | void, isEnabled?: () => boolean]

/** The demo API: the progress of the scenario, and the actions that a user can run. */
export function demoControl(scenario: Scenario, seed: number): DemoControl {
  const { payments, services, tracking } = scenario.shop
  const controlled = { warehouse: services.warehouse, analytics: tracking.analytics }
  const healthOf = (service: Service) => (controlled[service].isFailing ? 'failing' : 'healthy')
  const setTo = (health: 'failing' | 'healthy', service: Service, label: string): Button => [
    label,
    () => scenario.setHealth(service, health),
    () => healthOf(service) !== health,
  ]
  const canReplay = () => scenario.milestones.brokenGroup !== undefined && !scenario.isReplaying
  const buttons: Readonly<Record<Action, Button>> = {
    fix: ['Deploy the fix', () => scenario.ship('2.4.1'), () => payments.release === '2.4.0'],
    break: ['Deploy the broken release', () => scenario.ship('2.4.0'), () => payments.release !== '2.4.0'],
    'break-warehouse': setTo('failing', 'warehouse', 'Make the warehouse fail'),
    'fix-warehouse': setTo('healthy', 'warehouse', 'Repair the warehouse'),
    'break-analytics': setTo('failing', 'analytics', 'Make analytics fail'),
    'fix-analytics': setTo('healthy', 'analytics', 'Repair analytics'),
    burst: ['Send a burst of visitors', () => scenario.visitors.burst()],
    'send-poison': ['Send a poison order', () => scenario.producer.place('impossible-date')],
    'send-wrong-shape': ['Send an invalid order', () => scenario.producer.place('wrong-shape')],
    'send-bad-address': [
      'Send an e-mail to an invalid address',
      () => scenario.producer.place('bad-address'),
    ],
    'replay-payments': [
      'Replay the failed payments',
      by => scenario.startReplay(by, 'started with a demo button'),
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
        warehouse: healthOf('warehouse'),
        analytics: healthOf('analytics'),
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
