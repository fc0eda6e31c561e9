//! What the names in lines stand for, remembered from batch to batch in bounded memory.

use std::collections::{HashMap, HashSet};

use super::{
    line::{CarriedLine, Line, Reason},
    rejects::unknown,
};
use plaudit_catalogue::{
    EdgeKind, EntityKind,
    primitives::{Id, UserId},
};
use plaudit_store::{
    StoreResult,
    sql::{
        Tx,
        import::names::{self, NamedThing},
    },
};

/// Names that are remembered at most, about 120 bytes each.
const REMEMBERED: usize = 2_000_000;

/// Things by kind and name. Names do not change, so what is remembered stays true once its transaction has committed.
#[derive(Default)]
pub struct Names {
    things: [HashMap<String, NamedThing>; EntityKind::ALL.len()],
    /// The id of this installation, once a line names one.
    installation: Option<String>,
    /// Ids given to what a dry run would create, from the highest id downwards.
    invented: i64,
}

impl Names {
    /// Forgets everything: what a transaction added that was not committed does not exist.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Keeps the memory bounded, between batches. What a dry run would create is in no table to be read again.
    pub fn shrink(&mut self) {
        let (all, invented) = (self.things.iter().map(HashMap::len).sum::<usize>(), self.invented);
        if all - invented as usize > REMEMBERED {
            let is_invented = |_: &String, thing: &mut NamedThing| thing.id.get() >= Id::MAX - invented;
            self.things.iter_mut().for_each(|things| things.retain(is_invented));
        }
    }

    pub fn find(&self, kind: EntityKind, name: &str) -> Option<&NamedThing> {
        self.things[kind as usize].get(name)
    }

    /// # Errors
    /// Why a line is rejected that names something unknown.
    pub fn get(&self, kind: EntityKind, name: &str) -> Result<&NamedThing, Reason> {
        self.find(kind, name).ok_or_else(|| unknown(kind, name))
    }

    /// # Errors
    /// As [`Self::get`].
    pub fn user(&self, subject: &str) -> Result<UserId, Reason> {
        self.get(EntityKind::User, subject).map(|user| user.owner)
    }

    /// The actor of an edge, and its target with the owner.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub fn edge(&self, kind: EdgeKind, user: &str, target: &str) -> Result<(UserId, &NamedThing), Reason> {
        Ok((self.user(user)?, self.get(kind.target(), target)?))
    }

    /// Looks up the things of a kind that these lines name and that are not remembered, in one statement.
    pub async fn load<'a>(
        &mut self,
        tx: &mut Tx,
        kind: EntityKind,
        lines: impl Iterator<Item = &'a Line>,
    ) -> StoreResult<()> {
        let known = &mut self.things[kind as usize];
        let names = lines.flat_map(|line| line.names_of(kind));
        let missing: HashSet<&str> = names.filter(|name| !known.contains_key(*name)).collect();
        if !missing.is_empty() {
            known.extend(names::things_named(tx, kind, &missing.into_iter().collect::<Vec<_>>()).await?);
        }
        Ok(())
    }

    /// Looks up this installation, if a line names one.
    pub async fn load_installation<'a>(
        &mut self,
        tx: &mut Tx,
        mut lines: impl Iterator<Item = &'a Line>,
    ) -> StoreResult<()> {
        let names_one = |line: &Line| line.carried().is_some_and(|line| line.from.is_some());
        if self.installation.is_none() && lines.any(names_one) {
            self.installation = Some(names::installation_id(tx).await?);
        }
        Ok(())
    }

    /// Whether it says the total of this installation.
    pub fn is_from_here(&self, line: &CarriedLine) -> bool {
        line.from.is_some() && line.from == self.installation
    }

    /// Remembers what a dry run would create. The id of `thing` is not used; a user is their own owner.
    pub fn invent(&mut self, kind: EntityKind, name: &str, thing: NamedThing) {
        if self.find(kind, name).is_none() {
            self.invented += 1;
            let id = Id::try_from(Id::MAX - self.invented).unwrap_or(Id::HIGHEST);
            let owner = if kind == EntityKind::User { UserId(id) } else { thing.owner };
            self.things[kind as usize].insert(name.to_owned(), NamedThing { id, owner, ..thing });
        }
    }
}
