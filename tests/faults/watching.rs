//! Subscribers of the counts of a schedule.

use std::{sync::Arc, time::Duration};

use plaudit_catalogue::{Counter, Entity, EntityKind};
use serde_json::{Value, json};

use crate::{
    observations::{Observations, Values},
    servers::Servers,
    world::World,
};
use support::Socket;

/// The watched counts of one type.
pub struct WatchedType {
    kind: EntityKind,
    type_name: &'static str,
    subscription: &'static str,
    argument: &'static str,
    ids: fn(&World) -> Vec<i64>,
    fields: &'static [(&'static str, Counter)],
}

pub static WATCHED_TYPES: [WatchedType; 4] = [
    WatchedType {
        kind: EntityKind::Note,
        type_name: "Note",
        subscription: "noteCountsChanged",
        argument: "noteIds",
        ids: |world| world.notes.iter().map(|note| note.id).collect(),
        fields: &[("likeCount", Counter::NoteLikes), ("collectCount", Counter::NoteCollects)],
    },
    WatchedType {
        kind: EntityKind::User,
        type_name: "User",
        subscription: "userCountsChanged",
        argument: "userIds",
        // A subscription that names a user who was erased would be refused.
        ids: |world| {
            world.people.iter().map(|person| person.id).filter(|id| *id != world.leaving()).collect()
        },
        fields: &[
            ("followerCount", Counter::UserFollowers),
            ("followingCount", Counter::UserFollowing),
            ("likesReceivedCount", Counter::UserLikesReceived),
            ("collectsReceivedCount", Counter::UserCollectsReceived),
            ("groupCount", Counter::UserGroups),
            ("coinCount", Counter::UserCoins),
        ],
    },
    WatchedType {
        kind: EntityKind::Comment,
        type_name: "Comment",
        subscription: "commentCountsChanged",
        argument: "commentIds",
        ids: |world| world.comments.iter().map(|comment| comment.id).collect(),
        fields: &[("likes: likeCount", Counter::CommentLikes)],
    },
    WatchedType {
        kind: EntityKind::Group,
        type_name: "Group",
        subscription: "groupCountsChanged",
        argument: "groupIds",
        ids: |world| world.groups.iter().map(|group| group.id).collect(),
        fields: &[("memberCount", Counter::GroupMembers)],
    },
];

impl WatchedType {
    pub fn ids(&self, world: &World) -> Vec<String> {
        let prefix = self.type_name.to_lowercase();
        (self.ids)(world).iter().map(|id| format!("{prefix}_{id}")).collect()
    }

    pub fn of(kind: EntityKind) -> &'static Self {
        WATCHED_TYPES.iter().find(|watched| watched.kind == kind).unwrap()
    }

    /// A selection set with its counts.
    pub fn fields(&self) -> String {
        let fields: Vec<&str> = self.fields.iter().map(|(field, _)| *field).collect();
        format!("{{ __typename id countsVersion {} }}", fields.join(" "))
    }

    /// An inline fragment with its counts.
    pub fn fragment(&self) -> String {
        format!("... on {} {}", self.type_name, self.fields())
    }
}

/// Subscriptions to all counts: query and variables.
pub fn subscriptions(world: &World) -> Vec<(String, Value)> {
    let subscription = |watched: &WatchedType| {
        let (name, argument) = (watched.subscription, watched.argument);
        let fields = watched.fields();
        let query = format!("subscription ($ids: [ID!]!) {{ {name}({argument}: $ids) {fields} }}");
        (query, json!({ "ids": watched.ids(world) }))
    };
    WATCHED_TYPES.iter().map(subscription).collect()
}

/// Subscribes at one server, resubscribes after each end, and records all events. Never returns.
pub async fn watch(
    servers: Arc<Servers>,
    server: usize,
    subscriptions: Vec<(String, Value)>,
    observations: Arc<Observations>,
) {
    let name = format!("server {server}");
    loop {
        if let Some(mut socket) = Socket::try_open(&servers.url(server), None).await {
            for (i, (query, variables)) in subscriptions.iter().enumerate() {
                socket.subscribe(&i.to_string(), query, variables.clone()).await;
            }
            while let Some(message) = socket.try_receive().await {
                if message["type"] != "next" {
                    break; // RETRY_LATER, in an outage
                }
                let Some(data) = message["payload"]["data"].as_object() else { continue };
                for (entity, version, values) in data.values().filter_map(counts) {
                    observations.pushed(&name, entity, version, values);
                }
            }
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Parses an object with counts.
pub fn counts(object: &Value) -> Option<(Entity, u64, Values)> {
    let watched = WATCHED_TYPES.iter().find(|watched| object["__typename"] == watched.type_name)?;
    let entity: Entity = object["id"].as_str()?.parse().ok()?;
    let value = |(field, counter): &(&str, Counter)| {
        let field = field.split(':').next()?;
        Some((*counter, object[field].as_i64()?))
    };
    Some((entity, object["countsVersion"].as_u64()?, watched.fields.iter().filter_map(value).collect()))
}
