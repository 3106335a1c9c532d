//! Limits how many requests a second go to the API server.
//!
//! No client: a layer around one. A bucket holds `burst` requests and is filled at `qps`; a request waits its turn,
//! none is refused.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep_until};
use tower::{Layer, Service};

/// How many requests a second, and how many at once after a pause.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Throttle {
    interval: Duration,
    burst: u32,
}

impl Throttle {
    /// Makes a limit; `None` when there is none, which a `qps` of zero means.
    pub(crate) fn new(qps: f64, burst: u32) -> Option<Self> {
        let interval = Duration::try_from_secs_f64(qps.recip()).ok()?;
        (!interval.is_zero()).then_some(Self {
            interval,
            burst: burst.max(1),
        })
    }
}

impl<S> Layer<S> for Throttle {
    type Service = Throttled<S>;

    fn layer(&self, inner: S) -> Throttled<S> {
        Throttled {
            inner,
            throttle: *self,
            full_at: Instant::now(),
            wait: None,
        }
    }
}

/// A service behind a [`Throttle`].
pub(crate) struct Throttled<S> {
    inner: S,
    throttle: Throttle,
    /// When the bucket would be full if no further request came.
    full_at: Instant,
    wait: Option<Pin<Box<Sleep>>>,
}

impl<S: Service<R>, R> Service<R> for Throttled<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        let reserve = self.throttle.interval * (self.throttle.burst - 1);
        let free_at = self.full_at.checked_sub(reserve).unwrap_or(self.full_at);
        if free_at > Instant::now() {
            let wait = self.wait.get_or_insert_with(|| Box::pin(sleep_until(free_at)));
            ready!(wait.as_mut().poll(cx));
        }
        self.wait = None;
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: R) -> S::Future {
        self.full_at = self.full_at.max(Instant::now()) + self.throttle.interval;
        self.inner.call(request)
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use tower::{ServiceExt, service_fn};

    use super::*;

    async fn time_of(requests: u32, throttle: Option<Throttle>) -> Duration {
        let start = Instant::now();
        let mut service =
            tower::util::option_layer(throttle).layer(service_fn(|()| async { Ok::<_, Infallible>(()) }));
        for _ in 0..requests {
            service.ready().await.unwrap().call(()).await.unwrap();
        }
        start.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn a_burst_passes_at_once() {
        assert_eq!(time_of(100, Throttle::new(50.0, 100)).await, Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn more_than_a_burst_waits_for_its_turn() {
        let took = time_of(200, Throttle::new(50.0, 100)).await;
        assert!(
            took >= Duration::from_secs(2) && took < Duration::from_millis(2100),
            "{took:?}"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn zero_means_no_limit() {
        assert_eq!(time_of(10_000, Throttle::new(0.0, 1)).await, Duration::ZERO);
    }
}
