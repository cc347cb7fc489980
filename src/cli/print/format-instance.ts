import type { Instance, InstanceState, ReportedConsumer, ReportedSink } from '../../ports/fleet.ts'
import { fieldLines, heading } from './fields.ts'
import { safeText } from './safe-text.ts'
import type { Colour, Paint } from './style.ts'
import { isoAndRelative } from './times.ts'

export function instanceColour(state: InstanceState): Colour {
  return state === 'alive' ? 'green' : state === 'gone' ? 'red' : 'dim'
}

/** A process with its consumers and sinks. `now` is the time of this machine. */
export function formatInstance({ report, state, silentMs }: Instance, now: number, paint: Paint): string {
  const { id, service, version, release, host, pid, startedAt, consumers, sinks } = report
  return [
    `${paint('bold', `instance ${id}`)}  ${paint(instanceColour(state), state)}\n`,
    fieldLines(
      [
        ['service', safeText(service)],
        ['version', version === undefined ? undefined : safeText(version)],
        ['release', release === undefined ? undefined : safeText(release)],
        ['host', `${safeText(host)}, process ${pid}`],
        ['started', isoAndRelative(startedAt, now)],
        ['last seen', isoAndRelative(now - silentMs, now)],
      ],
      paint,
    ),
    consumers.length === 0 ? '' : heading('Consumers', paint),
    ...consumers.map(each => `  ${consumerLine(each)}\n`),
    sinks.length === 0 ? '' : heading('Sinks', paint),
    ...sinks.map(each => `  ${sinkLine(each)}\n`),
  ].join('')
}

export function consumerLine({
  channel,
  handler,
  broker,
  breaker,
  paused,
  perMinute,
  failureRate,
  lag,
}: ReportedConsumer): string {
  return [
    `${safeText(channel)}/${safeText(handler)} on ${safeText(broker)}`,
    `breaker ${breaker}`,
    ...(paused.length === 0 ? [] : [`paused (${paused.join(', ')})`]),
    `${Math.round(perMinute)} per minute`,
    `${Math.round(failureRate * 100)} % failed`,
    ...(lag === undefined ? [] : [`lag ${lag}`]),
  ].join(', ')
}

export function sinkLine({ name, breaker, buffered, delivered, gaveUp }: ReportedSink): string {
  return `${safeText(name)}: breaker ${breaker}, ${buffered} buffered, ${delivered} delivered, ${gaveUp} given up`
}
