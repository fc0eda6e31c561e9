//! The running operations of one connection, polled fairly.

use std::sync::Arc;

use tokio_stream::{StreamExt, StreamMap};

use super::super::operation::{OperationStep, OperationSteps};

/// Every operation that has a message gets its turn, however many messages another one has.
pub struct Operations {
    /// `StreamMap` starts polling at a random operation each time.
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

    /// Ends the operation at once. The client may use its id again.
    pub fn stop(&mut self, id: &str) {
        self.running.remove(id);
    }

    pub fn stop_all(&mut self) {
        self.running.clear();
    }

    /// The next message of any operation; `None` if none runs. Cancel safe: dropping this future loses no message.
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
    async fn an_operation_that_always_has_a_message_does_not_starve_another() {
        let mut operations = Operations::new(2);
        operations.start("a".into(), steps("a"));
        operations.start("b".into(), steps("b"));
        assert!(operations.is_full() && operations.has("a"));
        let mut messages = [0, 0];
        for _ in 0..1_000 {
            let (id, _) = operations.next().await.unwrap();
            messages[usize::from(&*id == "b")] += 1;
        }
        assert!(messages.iter().all(|count| *count > 300), "{messages:?}");
        operations.stop("a");
        assert!(!operations.is_full() && !operations.has("a"));
    }
}
