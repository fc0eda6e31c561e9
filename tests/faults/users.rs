//! The users of a schedule as clients of servers.

use std::time::Duration;

use plaudit_catalogue::{EdgeKind, primitives::EventCursor};
use plaudit_token_auth::Role;
use serde_json::{Value, json};

use crate::{
    consumer::{Events, Page},
    load::{Answer, Service},
    observations::{Asked, Observations},
    requests::{By, Request, edge_names, request, second_request},
    servers::Servers,
    watching::{WATCHED_TYPES, WatchedType, counts},
    world::{Act, Acted, World},
};
use support::{Client, Socket, token_as};

const ACT_WITHIN: Duration = Duration::from_secs(5);
const SERVICE: &str = "the service of the schedules";
/// The query of the consumer of events, and its subscription.
const EVENTS: &str = "($after: String, $first: Int) { events(after: $after, first: $first) {
    nodes { cursor type actor { id } target { id } } pageInfo { endCursor } } }";
/// Pages that one subscription of the consumer reads at most, and how long it waits for each.
const PAGES: usize = 4;
const PAGE_WITHIN: Duration = Duration::from_millis(300);
/// The subject of the moderator who hides users.
const MODERATOR: &str = "the moderator of the schedules";

/// The users as clients, each action on a random server.
pub struct ApiUsers<'a> {
    pub servers: &'a Servers,
    pub observations: &'a Observations,
}

impl ApiUsers<'_> {
    async fn send(&self, client: Client, query: &str, variables: Value) -> Answer<Value> {
        let outcome = tokio::time::timeout(ACT_WITHIN, client.try_send(query, variables)).await;
        let outcome = outcome.map_err(|_| format!("no reply within {ACT_WITHIN:?}"))?;
        let reply = outcome.map_err(|error| format!("{error:?}"))?;
        let errors = &reply.body["errors"];
        if reply.body["extensions"]["stale"] == true {
            return Err("read while Redis was away".to_owned());
        }
        if errors.is_null() {
            return Ok(reply.body["data"].clone());
        }
        let code = &errors[0]["extensions"]["code"];
        if code != "RETRY_LATER" && code != "SUSPENDED" {
            panic!("{query}: {}; the servers' logs:\n{}", reply.body, self.servers.log().await);
        }
        Err(errors[0].to_string())
    }

    async fn mutate(&self, world: &World, actor: usize, request: Request, key: &str) -> Answer<Acted> {
        let Request { by, mutation, mut input, fields } = request;
        let (role, subject) = match by {
            By::Actor => (Role::User, world.people[actor].subject.as_str()),
            By::Service => (Role::Service, SERVICE),
            By::Moderator => (Role::Moderator, MODERATOR),
        };
        // Without the field, each element has a key of its own.
        if mutation != "upsertNotes" {
            input["idempotencyKey"] = json!(key);
        }
        let type_name = format!("{}{}Input", mutation[..1].to_uppercase(), &mutation[1..]);
        let query = format!("mutation ($input: {type_name}!) {{ {mutation}(input: $input) {{ {fields} }} }}");
        let asked = self.asks();
        let client = Client::of(&self.servers.url(asked.server), role, subject);
        let payload = self.send(client, &query, json!({ "input": input })).await?[mutation].clone();
        // Without the field, something was created, granted or seen.
        let changed = payload["changed"].as_bool();
        let refused = payload["results"].as_array().into_iter().flatten().find(|one| !one["error"].is_null());
        assert!(refused.is_none(), "{mutation}: {payload}");
        let objects = payload.as_object().unwrap().values();
        let objects = objects.flat_map(|object| [object, &object["author"], &object["user"]]);
        for (entity, version, values) in objects.filter_map(counts) {
            let seen = (entity, version, &values);
            self.observations.replied(seen, &asked, key, changed == Some(true));
        }
        if let Some(changed) = changed {
            return Ok(changed.into());
        }
        let created = ["note", "comment", "group"].iter().find_map(|object| payload[object]["id"].as_str());
        let created = created.and_then(|id| id.split_once('_')?.1.parse().ok());
        Ok(Acted { changed: true, created })
    }

    fn asks(&self) -> Asked {
        self.observations.asks(self.servers.any())
    }

    fn url(&self) -> String {
        self.servers.url(self.servers.any())
    }
}

impl Service for ApiUsers<'_> {
    async fn act(&self, world: &World, actor: usize, act: Act, key: &str) -> Answer<Acted> {
        let acted = self.mutate(world, actor, request(world.people[actor].id, act), key).await?;
        if let Some(second) = second_request(act, acted) {
            self.mutate(world, actor, second, &format!("{key}-second")).await?;
        }
        Ok(acted)
    }

    async fn is_on(&self, world: &World, actor: usize, kind: EdgeKind, target: i64) -> Answer<bool> {
        let (.., target_kind, field) = edge_names(kind);
        let type_name = format!("{}{}", target_kind[..1].to_uppercase(), &target_kind[1..]);
        let query = format!("query ($id: ID!) {{ node(id: $id) {{ ... on {type_name} {{ {field} }} }} }}");
        let client = Client::of(&self.url(), Role::User, &world.people[actor].subject);
        as_bool(
            &self.send(client, &query, json!({ "id": format!("{target_kind}_{target}") })).await?["node"]
                [field],
        )
    }

    async fn read(&self, world: &World) {
        let ids: Vec<String> = WATCHED_TYPES.iter().flat_map(|watched| watched.ids(world)).collect();
        let fragments: Vec<String> = WATCHED_TYPES.iter().map(WatchedType::fragment).collect();
        let query = format!("query ($ids: [ID!]!) {{ nodes(ids: $ids) {{ {} }} }}", fragments.join(" "));
        let asked = self.asks();
        let client = Client::new(&self.servers.url(asked.server), None);
        let Ok(data) = self.send(client, &query, json!({ "ids": ids })).await else { return };
        for object in data["nodes"].as_array().unwrap() {
            if let Some((entity, version, values)) = counts(object) {
                self.observations.read((entity, version, &values), &asked);
            }
        }
    }
}

impl Events for ApiUsers<'_> {
    /// By the query, or by a subscription that ends after some pages.
    async fn page(&self, after: EventCursor, most: usize) -> Answer<Page> {
        let variables = json!({ "after": after.to_string(), "first": most });
        let pages = if rand::random_bool(0.5) {
            let client = Client::of(&self.url(), Role::Service, SERVICE);
            vec![self.send(client, &format!("query {EVENTS}"), variables).await?["events"].take()]
        } else {
            self.pushed(variables).await
        };
        let end = pages.last().map(|page| page["pageInfo"]["endCursor"].as_str().unwrap().parse().unwrap());
        let nodes = pages.iter().flat_map(|page| page["nodes"].as_array().unwrap().clone());
        Ok(Page { events: nodes.collect(), end: end.ok_or("nothing was pushed")? })
    }
}

impl ApiUsers<'_> {
    /// The pages that a subscription pushes, until it is silent or its server is killed.
    async fn pushed(&self, variables: Value) -> Vec<Value> {
        let mut pages = Vec::new();
        let reading = async {
            let token = token_as(Role::Service, SERVICE);
            let mut socket = Socket::try_open(&self.url(), Some(token)).await?;
            let payload = json!({ "query": format!("subscription {EVENTS}"), "variables": variables });
            socket.try_send(json!({ "type": "subscribe", "id": "events", "payload": payload })).await?;
            while pages.len() < PAGES {
                let message = tokio::time::timeout(PAGE_WITHIN, socket.try_receive()).await.ok()??;
                let Some(page) = message["payload"]["data"].get("events").filter(|page| !page.is_null())
                else {
                    let codes = message["payload"].to_string();
                    assert!(codes.contains("RETRY_LATER") || message["type"] == "complete", "{message}");
                    return None;
                };
                pages.push(page.clone());
            }
            Some(())
        };
        let _ = tokio::time::timeout(ACT_WITHIN, reading).await;
        pages
    }
}

fn as_bool(value: &Value) -> Answer<bool> {
    value.as_bool().ok_or_else(|| format!("{value} is not a boolean"))
}
