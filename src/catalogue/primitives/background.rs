//! Tasks that outlive the call that started them.

use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// Tasks that run until they are done, or until their owner ends them. Cheap to clone.
#[derive(Clone, Default)]
pub struct Background {
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl Background {
    pub fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        let stop = self.stop.clone();
        self.tasks.spawn(async move { stop.run_until_cancelled(work).await });
    }

    /// Ends all tasks; later ones end at once.
    pub async fn end(&self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}
