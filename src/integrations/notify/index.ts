export {
  ALERT_KINDS,
  ALERT_SEVERITIES,
  type AlertKind,
  type AlertSeverity,
  type AlertStatus,
  type ResolvedBy,
} from '../../core/alert/alert.ts'
export { ALERT_EVENT_TYPE, type AlertDocument, type AlertLink, alertOf } from '../../core/alert/document.ts'
export {
  type AlertPolicyOptions,
  DEFAULT_MAX_OPEN,
  DEFAULT_PER_MINUTE,
  DEFAULT_REPEAT_MS,
  DEFAULT_RESOLVE_AFTER_MS,
} from '../../core/alert/policy.ts'
export { DEFAULT_DELIVERY } from './deliveries.ts'
export { ALERT_CHANNEL } from './links.ts'
export { type AlertNotifier, createNotifier, type NotifierHealth } from './notifier.ts'
export { DEFAULT_NOTIFIER_GRACE_MS, type NotifierOptions, type RouteOptions } from './options.ts'
