//! Which entities of a shard were asked for, each noted once an hour.

use std::{collections::HashSet, mem, num::NonZeroUsize};

use foldhash::fast::RandomState;

use plaudit_catalogue::Entity;

/// At most as many as the cache has entities: what is asked for beyond them is noted in the next minute.
pub struct Asked {
    /// In this hour.
    noted: HashSet<Entity, RandomState>,
    /// Not yet taken.
    new: Vec<Entity>,
    most: usize,
}

impl Asked {
    pub fn new(most: NonZeroUsize) -> Self {
        Self { noted: HashSet::default(), new: Vec::new(), most: most.get() }
    }

    pub fn note(&mut self, entity: Entity) {
        if self.noted.len() < self.most && self.noted.insert(entity) {
            self.new.push(entity);
        }
    }

    /// What was noted since the last call. When an hour begins, or no more can be noted, everything is noted again.
    pub fn take(&mut self, is_new_hour: bool) -> Vec<Entity> {
        if is_new_hour || self.noted.len() >= self.most {
            self.noted.clear();
        }
        mem::take(&mut self.new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plaudit_catalogue::primitives::{Id, NoteId};

    fn note(id: i64) -> Entity {
        NoteId(Id::try_from(id).unwrap()).into()
    }

    #[test]
    fn an_entity_is_noted_once_an_hour_and_their_number_is_bounded() {
        let mut asked = Asked::new(NonZeroUsize::new(2).unwrap());
        asked.note(note(1));
        asked.note(note(1));
        assert_eq!(asked.take(false), [note(1)]);
        asked.note(note(1));
        assert_eq!(asked.take(true), []);
        for id in [1, 2, 3] {
            asked.note(note(id));
        }
        assert_eq!(asked.take(false), [note(1), note(2)]);
        asked.note(note(3));
        assert_eq!(asked.take(false), [note(3)]);
    }
}
