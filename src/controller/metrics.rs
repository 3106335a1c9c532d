//! What the controller counts, in the text format that Prometheus reads.
//!
//! No client.

use std::sync::Arc;
use std::time::Duration;

use prometheus_client::encoding::{EncodeLabelSet, text::encode};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

/// Every series of the controller; cheap to clone. Names of counters end with `_total` only on the wire.
#[derive(Clone, Debug)]
pub(crate) struct Metrics {
    registry: Arc<Registry>,
    reconciles: Family<ResultLabel, Counter>,
    errors: Family<ClassLabel, Counter>,
    duration: Histogram,
    queue: Gauge,
    waited: Histogram,
    jobs: Family<StateLabel, Gauge>,
    requests: Family<RequestLabels, Counter>,
    events_dropped: Counter,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ResultLabel {
    result: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ClassLabel {
    class: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct StateLabel {
    state: &'static str,
}

/// What a request to the API server was, and what came back.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub(crate) struct RequestLabels {
    /// The verb as access rules name it, such as `get` or `watch`.
    pub verb: &'static str,
    /// The resource with its subresource, such as `trainjobs/status`.
    pub resource: String,
    /// The code of the answer, or `error` where none came.
    pub code: String,
}

impl Metrics {
    /// Makes and registers all series.
    pub(crate) fn new() -> Self {
        let mut registry = Registry::default();
        let reconciles = Family::<ResultLabel, Counter>::default();
        let errors = Family::<ClassLabel, Counter>::default();
        let duration = Histogram::new(exponential_buckets(0.001, 2.0, 15));
        let queue = Gauge::default();
        let waited = Histogram::new(exponential_buckets(0.001, 2.0, 18));
        let jobs = Family::<StateLabel, Gauge>::default();
        let requests = Family::<RequestLabels, Counter>::default();
        let events_dropped = Counter::default();
        registry.register(
            "trainer_reconcile",
            "Reconciles of TrainJobs by result",
            reconciles.clone(),
        );
        registry.register(
            "trainer_reconcile_errors",
            "Failed reconciles by class of error",
            errors.clone(),
        );
        registry.register(
            "trainer_reconcile_duration_seconds",
            "Time that reconciles took",
            duration.clone(),
        );
        registry.register(
            "trainer_queue_depth",
            "TrainJobs that wait for a reconcile",
            queue.clone(),
        );
        registry.register(
            "trainer_queue_duration_seconds",
            "Time that TrainJobs waited for a reconcile",
            waited.clone(),
        );
        registry.register(
            "trainer_trainjobs",
            "TrainJobs of this controller by state",
            jobs.clone(),
        );
        registry.register(
            "trainer_api_requests",
            "Requests to the API server",
            requests.clone(),
        );
        registry.register(
            "trainer_events_dropped",
            "Events that were not sent because too many were waiting",
            events_dropped.clone(),
        );
        Self {
            registry: Arc::new(registry),
            reconciles,
            errors,
            duration,
            queue,
            waited,
            jobs,
            requests,
            events_dropped,
        }
    }

    /// Counts a reconcile; `class` is that of its error.
    pub(crate) fn reconciled(&self, class: Option<&'static str>, took: Duration) {
        let result = if class.is_none() { "success" } else { "error" };
        self.reconciles.get_or_create(&ResultLabel { result }).inc();
        if let Some(class) = class {
            self.errors.get_or_create(&ClassLabel { class }).inc();
        }
        self.duration.observe(took.as_secs_f64());
    }

    /// Sets how many jobs wait.
    pub(crate) fn queued(&self, jobs: usize) {
        self.queue.set(i64::try_from(jobs).unwrap_or(i64::MAX));
    }

    /// Records how long a job waited.
    pub(crate) fn waited(&self, time: Duration) {
        self.waited.observe(time.as_secs_f64());
    }

    /// Sets how many jobs are in each state.
    pub(crate) fn states(&self, states: impl IntoIterator<Item = (&'static str, usize)>) {
        for (state, jobs) in states {
            let jobs = i64::try_from(jobs).unwrap_or(i64::MAX);
            self.jobs.get_or_create(&StateLabel { state }).set(jobs);
        }
    }

    /// Counts a request to the API server.
    pub(crate) fn requested(&self, labels: &RequestLabels) {
        self.requests.get_or_create(labels).inc();
    }

    /// Counts an Event that could not be queued.
    pub(crate) fn event_dropped(&self) {
        self.events_dropped.inc();
    }

    /// Writes all series as text.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a String cannot fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_have_their_suffix_once() {
        let metrics = Metrics::new();
        metrics.reconciled(Some("invalid"), Duration::from_millis(3));
        let text = metrics.text();
        assert!(
            text.contains("trainer_reconcile_total{result=\"error\"} 1"),
            "{text}"
        );
        assert!(
            text.contains("trainer_reconcile_errors_total{class=\"invalid\"} 1"),
            "{text}"
        );
        assert!(
            text.contains("trainer_reconcile_duration_seconds_count 1"),
            "{text}"
        );
        assert!(!text.contains("_total_total"), "{text}");
    }
}
