//! A command about one shard, which goes to the node that has the shard's keys.

use std::ops::{Deref, DerefMut};

use redis::Cmd;

use crate::redis::keys::RedisKey;
use plaudit_catalogue::primitives::ShardId;

/// A command and its shard. Arguments are added as to a [`Cmd`].
#[derive(Clone)]
pub struct RedisCall {
    pub shard: ShardId,
    cmd: Cmd,
}

impl RedisCall {
    /// A command whose first argument is a key: `words` are its name and, where it has one, its subcommand's name.
    pub fn new(words: &str, key: &RedisKey) -> Self {
        let mut call = Self::about(key.shard, words);
        call.arg(key);
        call
    }

    /// A command without a key, or with another argument before the key.
    pub fn about(shard: ShardId, words: &str) -> Self {
        let mut cmd = Cmd::new();
        for word in words.split(' ') {
            cmd.arg(word);
        }
        Self { shard, cmd }
    }
}

impl Deref for RedisCall {
    type Target = Cmd;

    fn deref(&self) -> &Cmd {
        &self.cmd
    }
}

impl DerefMut for RedisCall {
    fn deref_mut(&mut self) -> &mut Cmd {
        &mut self.cmd
    }
}
