//! The operations that run on one connection.

use std::sync::Arc;

use tokio_stream::{StreamExt, StreamMap};

use super::super::operation::{OperationStep, OperationSteps};

/// Fair: every operation with a message gets its turn, however many another one has.
pub struct Operations {
    /// Polled from a random one on, each time.
    running: StreamMap<Arc<str>, OperationSteps>,
    limit: usize,
}

impl Operations {
    pub fn new(limit: u32) -> Self {
        Self { running: StreamMap::new(), limit: limit as usize }
    }

    pub fn has(&self, id: &str) -> bool {
        self.running.contains_key(id)
    }

    pub fn is_full(&self) -> bool {
        self.running.len() >= self.limit
    }

    pub fn start(&mut self, id: String, steps: OperationSteps) {
        self.running.insert(id.into(), steps);
    }

    /// Ends the operation at once; its id may be used again.
    pub fn stop(&mut self, id: &str) {
        self.running.remove(id);
    }

    pub fn stop_all(&mut self) {
        self.running.clear();
    }

    /// The next message of any of them. `None` when none runs. Dropping this future loses nothing.
    pub async fn next(&mut self) -> Option<(Arc<str>, OperationStep)> {
        self.running.next().await
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use futures_util::stream;

    use super::*;

    fn steps(text: &'static str) -> OperationSteps {
        Box::pin(stream::repeat_with(|| OperationStep::Next(Bytes::from_static(text.as_bytes()))))
    }

    #[tokio::test]
    async fn one_that_always_has_something_to_tell_does_not_silence_another() {
        let mut operations = Operations::new(2);
        operations.start("a".into(), steps("a"));
        operations.start("b".into(), steps("b"));
        assert!(operations.is_full() && operations.has("a"));
        let mut told = [0, 0];
        for _ in 0..1_000 {
            let (id, _) = operations.next().await.unwrap();
            told[usize::from(&*id == "b")] += 1;
        }
        assert!(told.iter().all(|times| *times > 300), "{told:?}");
        operations.stop("a");
        assert!(!operations.is_full() && !operations.has("a"));
    }
}
