//! Request scope: who asks, and the loaders of the request.

use std::{
    net::IpAddr,
    sync::{Arc, OnceLock},
};

use futures_util::{FutureExt, future::try_join_all};

use super::{
    facts::{Facts, Reads, Row},
    loaders::{Loaders, ThreadKey, load},
    reader::FactsReader,
};
use crate::{
    errors::ApiResult,
    request::viewer::{Caller, Viewer},
};
use plaudit_catalogue::{
    Entity, EntityKind,
    primitives::{PageRequest, Ranked, UserId, network_of},
};
use plaudit_counting::hub::CountsAt;
use plaudit_domain::{
    ActorsOf, CommentOrder, CommentThread, LowestDurability, Plaudit, RecordedViews, ThreadPage,
    content::{app_keys, comments},
};

/// The scope of one request, one mutation of a request, or one event. Within one scope an entity has one version of its
/// counts. Cheap to clone.
#[derive(Clone)]
pub struct Scope(Arc<ScopeData>);

struct ScopeData {
    reader: FactsReader,
    /// The counts of the event that is executed.
    event: Option<(Entity, CountsAt)>,
    loaders: OnceLock<Loaders>,
    acts: OnceLock<Arc<RequestActs>>,
}

/// Where a request comes from, and what its mutations have done; they share it.
#[derive(Default)]
pub struct RequestActs {
    /// The network of the sender's address.
    pub network: Option<IpAddr>,
    /// Whether a gateway of a federated graph sends it.
    pub is_of_gateway: bool,
    pub recorded_views: RecordedViews,
    pub durability: LowestDurability,
}

impl Scope {
    /// A scope that has read nothing yet.
    pub fn new(reader: FactsReader) -> Self {
        Self(Arc::new(ScopeData { reader, event: None, loaders: OnceLock::new(), acts: OnceLock::new() }))
    }

    /// The scope of a request of this caller, for whom `reader` reads.
    pub fn of_request(reader: FactsReader, caller: &Caller) -> Self {
        let network = Some(network_of(caller.address));
        let acts = RequestActs { network, is_of_gateway: caller.is_gateway, ..RequestActs::default() };
        let (loaders, acts) = (OnceLock::new(), Arc::new(acts).into());
        Self(Arc::new(ScopeData { reader, event: None, loaders, acts }))
    }

    /// The scope of an event, which has these counts.
    pub fn of_message(reader: FactsReader, entity: Entity, counted: CountsAt) -> Self {
        Self(Arc::new(ScopeData {
            reader,
            event: Some((entity, counted)),
            loaders: OnceLock::new(),
            acts: OnceLock::new(),
        }))
    }

    /// The scope of one of the request's mutations. It has read nothing: after a write, everything is read again.
    pub fn of_mutation(&self) -> Self {
        Self(Arc::new(ScopeData {
            reader: self.reader().clone().for_mutation(),
            event: None,
            loaders: OnceLock::new(),
            acts: Arc::clone(self.acts()).into(),
        }))
    }

    pub fn acts(&self) -> &Arc<RequestActs> {
        self.0.acts.get_or_init(Arc::default)
    }

    pub fn reader(&self) -> &FactsReader {
        &self.0.reader
    }

    pub fn plaudit(&self) -> &Plaudit {
        &self.reader().plaudit
    }

    pub fn viewer(&self) -> &Viewer {
        self.reader().viewer()
    }

    pub fn message(&self) -> Option<(Entity, CountsAt)> {
        self.0.event
    }

    /// The entities with these keys, in their order; `None` for keys of nothing, and for subjects that the viewer may
    /// not name: those are not looked up, so that neither answer nor time shows whether they have a user.
    pub async fn find_by_keys(&self, kind: EntityKind, keys: &[&str]) -> ApiResult<Vec<Option<Entity>>> {
        let may_name = |key: &str| kind != EntityKind::User || self.reader().may_name_by_subject(key);
        self.find_those(kind, keys, may_name).await
    }

    /// The same for references of other subgraphs. A gateway may name everybody in them: its clients cannot send any.
    pub async fn find_references(&self, kind: EntityKind, keys: &[&str]) -> ApiResult<Vec<Option<Entity>>> {
        if self.acts().is_of_gateway {
            return self.find_those(kind, keys, |_| true).await;
        }
        self.find_by_keys(kind, keys).await
    }

    async fn find_those(
        &self,
        kind: EntityKind,
        keys: &[&str],
        may_name: impl Fn(&str) -> bool,
    ) -> ApiResult<Vec<Option<Entity>>> {
        let named: Vec<&str> = keys.iter().copied().filter(|key| may_name(key)).collect();
        let mut found = app_keys::find_by_keys(self.plaudit(), kind, &named).await?.into_iter();
        Ok(keys.iter().map(|key| if may_name(key) { found.next().flatten() } else { None }).collect())
    }

    fn loaders(&self) -> &Loaders {
        self.0.loaders.get_or_init(|| Loaders::new(self.reader()))
    }

    /// Facts of one entity, through the loaders. `reads` names one kind of fact.
    pub async fn facts(&self, entity: Entity, reads: Reads) -> ApiResult<Facts> {
        load(&self.loaders().facts, (entity, reads)).await
    }

    /// The rows of entities, in their order; `None` for those that do not exist, or that the viewer may not see.
    pub async fn rows(&self, entities: &[Entity]) -> ApiResult<Vec<Option<Row>>> {
        let cached: Option<Vec<_>> =
            entities.iter().map(|entity| self.reader().cached_row(*entity)).collect();
        match cached {
            Some(rows) => Ok(rows),
            // On the heap, as in `read`.
            None => try_join_all(entities.iter().map(|entity| self.row(*entity).boxed())).await,
        }
    }

    /// The row of an entity; `None` if it does not exist, or if the viewer may not see it.
    pub async fn row(&self, of: impl Into<Entity>) -> ApiResult<Option<Row>> {
        self.facts(of.into(), Reads::ROW).await?.into_row()
    }

    /// The first of the entities that does not exist.
    pub async fn first_absent(&self, entities: &[Entity]) -> ApiResult<Option<Entity>> {
        let rows = self.rows(entities).await?;
        Ok(entities.iter().zip(rows).find(|(_, row)| row.is_none()).map(|(entity, _)| *entity))
    }

    /// A page of a thread. First pages of several threads that are requested together are one statement.
    pub async fn thread(
        &self,
        thread: CommentThread,
        order: CommentOrder,
        request: &PageRequest<Ranked>,
    ) -> ApiResult<Arc<ThreadPage>> {
        if request.after.is_none() {
            return load(&self.loaders().threads, ThreadKey { thread, order, first: request.first }).await;
        }
        let mut pages = comments::threads(self.plaudit(), &[thread], order, request).await?;
        Ok(Arc::new(pages.remove(&thread).unwrap_or_default()))
    }

    /// Actors of an inbox entry. One statement reads the actors of several entries that are requested together.
    pub async fn inbox_actors(&self, of: ActorsOf) -> ApiResult<Arc<Vec<UserId>>> {
        load(&self.loaders().inbox_actors, of).await
    }
}
