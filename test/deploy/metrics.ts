const SURFACE = `
events_processed_total{channel,outcome} handler_duration_seconds{channel} retry_attempts_total{name}
retry_successes_total{name} retry_exhausted_total{name} retry_permanent_failures_total{name,error_class}
retry_delay_seconds{name} retry_limiter_allowed_total{name} retry_limiter_limited_total{name,action}
retry_queue_size{name} retry_dropped_total{name,reason} retry_batches_total{name} breaker_state{name}
breaker_opened_total{name} breaker_closed_total{name} breaker_rejected_total{name}
dlq_saved_total{channel,reason} dlq_replayed_total{channel} dlq_replay_failed_total{channel}
dlq_filtered_total{channel} dlq_write_errors_total{channel} dlq_size{channel} dlq_oldest_age_seconds{channel}
attempts_before_dlq{channel} rate_limiter_limited_total{type} rate_limiter_dlq_saved_total{type}
rate_limiter_dropped_total{type} tracking_failures_swallowed_total{error_class,context} tracked_in_job_total{job}
dlq_from_job_total{job,reason} health_checks_total{name,result} dispatch_success_ratio{} poison_quarantined_total{channel,category}
replay_outcomes_total{outcome}`

const HISTOGRAMS = ['handler_duration_seconds', 'retry_delay_seconds', 'attempts_before_dlq']
/** What Prometheus adds to every series, and how it calls a label that it would hide. */
const OF_TARGETS = ['job', 'instance']

/** Every metric there is as Prometheus has it, with the labels it has there. */
export const METRICS: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  [...SURFACE.matchAll(/(\w+)\{([\w,]*)\}/g)].flatMap(([, name, given]) => {
    const labels = given!.split(',').filter(label => label !== '')
    const scraped = labels.map(label => (OF_TARGETS.includes(label) ? `exported_${label}` : label))
    const all = [...scraped, ...OF_TARGETS]
    return HISTOGRAMS.includes(name!)
      ? [
          [`lazaret_${name}_bucket`, new Set([...all, 'le'])] as const,
          [`lazaret_${name}_sum`, new Set(all)] as const,
          [`lazaret_${name}_count`, new Set(all)] as const,
        ]
      : [[`lazaret_${name}`, new Set(all)] as const]
  }),
)

/** The metrics that an expression reads, those behind recorded ones included, each with the labels it is asked for. */
export function asked(
  expr: string,
): readonly { readonly metric: string; readonly labels: readonly string[] }[] {
  const by = [...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list]) => list!.split(/,\s*/))
  return [...expr.matchAll(/\b(lazaret[_:][\w:]+)(?:\{([^}]*)\})?/g)].map(([, metric, selector = '']) => ({
    metric: metric!,
    labels: [...by, ...[...selector.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)].map(([, label]) => label!)],
  }))
}
