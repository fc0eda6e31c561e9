//! Explanation of an object's counts for moderators: what `plaudit explain` prints, within the bounds of a request.

use std::time::Duration;

use super::{DomainError, DomainResult, Plaudit};
use plaudit_catalogue::Entity;
use plaudit_counting::reconcile;
use plaudit_store::{StoreError, sql::counting::recount::took_too_long};

pub use plaudit_counting::reconcile::explanation::Explanation;

/// Bound of an explanation, with its wait for others: below any request's bound.
const LONGEST: Duration = Duration::from_millis(1_500);

/// Explains an entity's counts and changes nothing; `None` if it never existed. A process makes one explanation at
/// a time: each counts rows and reads the ends of all logs.
///
/// # Errors
/// [`DomainError::BadInput`] if its rows are too many to be counted in a request.
pub async fn explain(plaudit: &Plaudit, entity: Entity) -> DomainResult<Option<Explanation>> {
    let services = &plaudit.inner;
    let explained = tokio::time::timeout(LONGEST, async {
        let _turn = services.explaining.acquire().await;
        reconcile::explain::explain(&services.redis, &services.db, entity, &[]).await
    });
    match explained.await {
        Ok(Ok(mut explanation)) => {
            if let Some(error) = &mut explanation.redis.error {
                tracing::warn!(%error, "Redis could not be read to explain {entity}");
                *error = "Redis could not be read; the server's log says why".into();
            }
            Ok(Some(explanation).filter(Explanation::has_anything))
        }
        Ok(Err(error)) if took_too_long(&error) => {
            let message =
                format!("id: {entity} has too many rows for a request; use the command plaudit explain");
            Err(DomainError::bad_input("id", message))
        }
        Ok(Err(error)) => Err(error.into()),
        Err(_) => Err(StoreError::SqlBusy(format!("no explanation within {LONGEST:?}")).into()),
    }
}
