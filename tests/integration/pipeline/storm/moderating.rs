//! What moderators and services do during a storm, throughout all of it.

use std::collections::BTreeSet;

use rand::{RngExt, rngs::StdRng, seq::IndexedRandom};
use serde_json::json;

use super::{
    acting::ids_of,
    world::{HIDEABLE, SUSPENDABLE, Served, USERS, World, attempt},
};
use support::{Client, in_days};

const HIDINGS: usize = 14;
const SUSPENSIONS: usize = 8;
const DECISIONS: usize = 24;
const SERVICES: usize = 30;

impl World {
    /// Hides and restores users; returns those who are hidden in the end. One who was erased stays so.
    pub async fn hide(&self, mut rng: StdRng) -> BTreeSet<String> {
        let mut hidden = BTreeSet::new();
        for i in 0..HIDINGS {
            self.until(i, HIDINGS).await;
            let user = self.users[*HIDEABLE.choose(&mut rng).unwrap()].1.clone();
            let hide = rng.random_bool(0.4);
            let mutation = if hide { "hideUser" } else { "restoreUser" };
            let input = json!({ "userId": user });
            let Some(reply) = attempt(&self.moderator, mutation, input, "changed", &[]).await else {
                continue;
            };
            assert_eq!(reply["changed"], hidden.contains(&user) != hide, "{mutation}");
            if hide {
                hidden.insert(user);
            } else {
                hidden.remove(&user);
            }
        }
        hidden
    }

    /// Suspends users, and lifts the suspensions. What is refused meanwhile is not done, so nothing else is expected.
    pub async fn suspend(&self, mut rng: StdRng) {
        for i in 0..SUSPENSIONS {
            self.until(2 * i, 2 * SUSPENSIONS).await;
            let user = &self.users[*SUSPENDABLE.choose(&mut rng).unwrap()].1;
            let input = json!({ "userId": user, "until": in_days(1) });
            assert_eq!(self.moderator.act("suspendUser", input, "changed").await["changed"], true);
            self.until(2 * i + 1, 2 * SUSPENSIONS).await;
            let input = json!({ "userId": user });
            assert_eq!(self.moderator.act("unsuspendUser", input, "changed").await["changed"], true);
        }
    }

    /// Decides about reports; returns the notes and comments that were removed so.
    pub async fn decide(&self, mut rng: StdRng) -> BTreeSet<String> {
        let mut removed = BTreeSet::new();
        for i in 0..DECISIONS {
            self.until(i, DECISIONS).await;
            let Some(target) = self.reported().choose(&mut rng).cloned() else { continue };
            let decision = if rng.random_bool(0.4) { "REMOVE" } else { "KEEP" };
            let input = json!({ "aboutId": target, "decision": decision });
            // Refused if it was kept before, and not reported since.
            let reply = attempt(&self.moderator, "decide", input, "changed", &["BAD_USER_INPUT"]).await;
            if decision == "REMOVE" && reply.is_some_and(|reply| reply["changed"] == true) {
                removed.insert(target);
            }
        }
        removed
    }

    /// Grants coins, notifies of messages, and views notes without a token.
    pub async fn serve(&self, service: &Client, mut rng: StdRng) -> Served {
        let mut served = Served::default();
        for i in 0..SERVICES {
            self.until(i, SERVICES).await;
            let ids: Vec<String> = self.targets("note", 0).sample(&mut rng, 2).cloned().collect();
            let viewed = self.anonymous.act("recordViews", json!({ "noteIds": ids }), "notes { id }").await;
            served.viewed.extend(ids_of(&viewed["notes"]));
            let at = rng.random_range(0..USERS);
            let (user, other) = (&self.users[at].1, &self.users[(at + 1) % USERS].1);
            if rng.random_bool(0.5) {
                let input = json!({ "senderId": other, "recipientId": user });
                if attempt(service, "recordMessage", input, "__typename", &[]).await.is_some() {
                    *served.messages.entry((other.clone(), user.clone())).or_default() += 1;
                }
                continue;
            }
            let amount = rng.random_range(1..50) * if rng.random_bool(0.3) { -1 } else { 1 };
            let balance = served.coins.entry(user.clone()).or_insert(0);
            let input = json!({ "userId": user, "amount": amount, "reason": "A storm" });
            let is_enough = *balance + amount >= 0;
            let refusals: &[&str] = if is_enough { &[] } else { &["BAD_USER_INPUT"] };
            if attempt(service, "grantCoins", input, "__typename", refusals).await.is_some() {
                assert!(is_enough, "{user} has fewer coins than were taken");
                *balance += amount;
            }
        }
        served
    }
}
