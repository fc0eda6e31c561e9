//! Access rules: every operation and every private field, tried in every role.

use std::collections::BTreeSet;

use plaudit_token_auth::Role;
use serde_json::{Value, json};

use super::rights::{Right, Who, rights};
use support::{
    Client, Server, Socket, in_days, note, number,
    raw::{Raw, request},
    token_as, user,
};

/// The role of a client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum As {
    Nobody,
    /// A user other than the owner of the objects.
    Other,
    Owner,
    Moderator,
    Service,
}

impl As {
    /// Roles that may delete objects come last.
    const ALL: [Self; 5] = [Self::Nobody, Self::Other, Self::Service, Self::Owner, Self::Moderator];

    /// The error code by the table; `None` if the role is allowed.
    const fn refusal(self, who: Who) -> Option<&'static str> {
        let is_allowed = match who {
            Who::Anyone | Who::Gateways => true,
            Who::SignedIn => !matches!(self, Self::Nobody),
            Who::Author => matches!(self, Self::Owner),
            Who::AuthorOrModerator => matches!(self, Self::Owner | Self::Moderator),
            // The user who is named has no token here.
            Who::Oneself => matches!(self, Self::Moderator | Self::Service),
            Who::Moderator => matches!(self, Self::Moderator),
            Who::ModeratorOrService => matches!(self, Self::Moderator | Self::Service),
            Who::Service => matches!(self, Self::Service),
        };
        match self {
            _ if is_allowed => None,
            Self::Nobody => Some("UNAUTHENTICATED"),
            _ => Some("FORBIDDEN"),
        }
    }

    fn token(self) -> Option<String> {
        let (role, subject) = match self {
            Self::Nobody => return None,
            Self::Other => (Role::User, "another user"),
            Self::Owner => (Role::User, OWNER),
            Self::Moderator => (Role::Moderator, "a moderator of this test"),
            Self::Service => (Role::Service, "a service of this test"),
        };
        Some(token_as(role, subject))
    }

    fn client(self, server: &Server) -> Client {
        Client::new(&server.url, self.token())
    }
}

const OWNER: &str = "the owner of the objects";

/// Objects of the owner and of others.
struct Things {
    owner: String,
    /// By the owner, in the group.
    note: String,
    /// By the owner.
    comment: String,
    group: String,
    /// By another user, and reported.
    others_note: String,
    /// By another user.
    reported: String,
    other_user: String,
    /// Is erased.
    leaving: String,
    /// By the owner, in the group; it is taken out.
    leaving_note: String,
}

impl Things {
    async fn new(server: &Server) -> Self {
        let (owner, stores) = (As::Owner.client(server), server.stores());
        let group =
            owner.act("createGroup", json!({ "name": "All" }), "group { id }").await["group"]["id"].clone();
        let input = json!({ "title": "Mine", "body": "Text", "groupId": group });
        let created =
            owner.act("createNote", input.clone(), "note { id author { id } }").await["note"].clone();
        let (note_, id) = (created["id"].as_str().unwrap(), created["author"]["id"].as_str().unwrap());
        let comment = stores.new_comment_by(number(&created["author"]["id"]), number(&created["id"])).await;
        let others_note = support::note(stores.new_note().await);
        let report = json!({ "noteId": others_note, "reason": "SPAM" });
        server.client("a reporter").act("reportNote", report, "changed").await;
        Self {
            owner: id.to_owned(),
            note: note_.to_owned(),
            comment: format!("comment_{comment}"),
            group: group.as_str().unwrap().to_owned(),
            others_note,
            reported: format!("comment_{}", stores.new_comment(number(&created["id"])).await),
            other_user: user(stores.new_user().await),
            leaving: user(stores.new_user().await),
            leaving_note: owner.act("createNote", input, "note { id }").await["note"]["id"]
                .as_str()
                .unwrap()
                .to_owned(),
        }
    }

    /// An operation with this field on these objects.
    fn document(&self, of_type: &str, field: &str) -> String {
        let Self { owner, note, comment, group, others_note, reported, other_user, leaving, leaving_note } =
            self;
        let input = match field {
            "addComment" => json!({ "noteId": note, "body": "Words" }),
            "likeComment" | "unlikeComment" | "deleteComment" => json!({ "commentId": comment }),
            "updateComment" => json!({ "commentId": comment, "body": "Another" }),
            "createGroup" => json!({ "name": "Another" }),
            "createNote" => json!({ "title": "Another", "body": "Text" }),
            "updateNote" => json!({ "noteId": note, "title": "Another" }),
            "updateGroup" => json!({ "groupId": group, "name": "Another" }),
            "updateProfile" => json!({ "name": "Another" }),
            "rateNote" => json!({ "noteId": note, "score": 7 }),
            "recordViews" => json!({ "noteIds": [note] }),
            "suspendUser" => json!({ "userId": other_user, "until": in_days(1) }),
            "reportNote" => json!({ "noteId": others_note, "reason": "SPAM" }),
            "reportComment" => json!({ "commentId": reported, "reason": "SPAM" }),
            "decide" => json!({ "aboutId": others_note, "decision": "KEEP" }),
            "eraseUser" => json!({ "userId": leaving }),
            "follow" | "unfollow" | "hideUser" | "restoreUser" | "unsuspendUser" => {
                json!({ "userId": other_user })
            }
            "grantCoins" => json!({ "userId": owner, "amount": 1, "reason": "Because" }),
            "joinGroup" | "leaveGroup" | "deleteGroup" => json!({ "groupId": group }),
            "removeGroupMember" => json!({ "groupId": group, "userId": other_user }),
            "removeGroupNote" => json!({ "groupId": group, "noteId": leaving_note }),
            "markInboxRead" => json!({ "badges": ["LIKES"] }),
            "upsertUsers" => json!({ "users": [{ "subject": "a user of this test's app" }] }),
            "upsertGroups" => json!({ "groups": [{ "key": "access", "ownerId": owner, "name": "Another" }] }),
            "upsertNotes" => {
                json!({ "notes": [{ "key": "access", "authorId": owner, "title": "Another", "body": "Text" }] })
            }
            "removeNotes" => json!({ "noteIds": ["note:none"] }),
            "recordMessage" => json!({ "senderId": other_user, "recipientId": owner }),
            _ => json!({ "noteId": note }),
        };
        let selection = match (of_type, field) {
            ("Mutation", _) => format!("{field}(input: {}) {{ __typename }}", literal(&input)),
            ("Query", "reviewQueue") => "reviewQueue { items { nodes { reason } } }".into(),
            ("Query", "node" | "note") => format!("{field}(id: \"{note}\") {{ id }}"),
            ("Query", "group") => format!("group(id: \"{group}\") {{ id }}"),
            ("Query", "nodes") => format!("nodes(ids: [\"{note}\"]) {{ id }}"),
            ("Query", "_entities") => {
                format!(
                    "_entities(representations: [{{ __typename: \"Note\", id: \"{note}\" }}]) {{ __typename }}"
                )
            }
            ("Query", "_service") => "_service { sdl }".into(),
            ("Query", "notesByKey") => "notesByKey(keys: [\"none\"]) { id }".into(),
            ("Query", "user") => format!("user(id: \"{owner}\") {{ id }}"),
            ("Query", "viewer") => "viewer { user { id } }".into(),
            ("Query", "userBySubject") => "userBySubject(subject: \"nobody\") { id }".into(),
            ("Query", "users") => "users(prefix: \"a\") { nodes { id } }".into(),
            ("Query", "exportUser") => format!("exportUser(userId: {other_user:?}) {{ nodes {{ kind }} }}"),
            ("Query" | "Subscription", "events") => "events { nodes { cursor } }".into(),
            ("Query", "explain") => format!("explain(id: \"{note}\")"),
            ("Query", _) => format!("{field} {{ nodes {{ id }} }}"),
            ("Subscription", "noteCountsChanged") => format!("{field}(noteIds: [\"{note}\"]) {{ id }}"),
            ("Subscription", "userCountsChanged") => format!("{field}(userIds: [\"{owner}\"]) {{ id }}"),
            ("Subscription", "commentCountsChanged") => {
                format!("{field}(commentIds: [\"{comment}\"]) {{ id }}")
            }
            ("Subscription", "groupCountsChanged") => format!("{field}(groupIds: [\"{group}\"]) {{ id }}"),
            ("Subscription", "noteCommentsChanged") => {
                format!("{field}(noteId: \"{note}\") {{ position }}")
            }
            ("Subscription", "feedChanged" | "inboxEntryAdded") => format!("{field} {{ position }}"),
            ("Subscription", "reviewQueueChanged") => format!("{field} {{ waitingCount }}"),
            ("Subscription", _) => format!("{field} {{ id }}"),
            ("Note", "activity") => {
                format!("note(id: \"{note}\") {{ activity(from: \"2026-01-01T00:00:00.000Z\") {{ total }} }}")
            }
            ("Note", "ratings") => format!("note(id: \"{note}\") {{ ratings {{ nodes {{ score }} }} }}"),
            ("User", "suspension") => format!("user(id: \"{owner}\") {{ suspension {{ endsAt }} }}"),
            ("User", "visibility") => format!("user(id: \"{owner}\") {{ visibility {{ isHidden }} }}"),
            _ => panic!("{of_type}.{field} needs a selection"),
        };
        let is_root = ["Mutation", "Subscription"].contains(&of_type);
        let operation = if is_root { of_type.to_lowercase() } else { "query".into() };
        format!("{operation} {{ {selection} }}")
    }
}

/// A GraphQL literal: names and enum values without quotes.
fn literal(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let fields: Vec<_> =
                fields.iter().map(|(name, value)| format!("{name}: {}", literal(value))).collect();
            format!("{{ {} }}", fields.join(", "))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(literal).collect::<Vec<_>>().join(", ")),
        Value::String(text) if ["LIKES", "SPAM", "KEEP"].contains(&text.as_str()) => text.clone(),
        value => value.to_string(),
    }
}

/// Makes a new comment wait for a person.
async fn set_pending(server: &Server, comment: i64) {
    let wait = "WITH queued AS (INSERT INTO submission (kind, target_id, undecided_why) VALUES ('comment', $1, 'Because'))
                UPDATE comment_index SET state = 'pending' WHERE id = $1";
    sqlx::query(wait).bind(comment).execute(&server.stores().sql().await).await.unwrap();
}

/// The error codes of a response.
async fn codes(server: &Server, role: As, of_type: &str, document: &str) -> Vec<String> {
    let response = if of_type == "Subscription" {
        let mut socket = Socket::open(&server.url, role.token()).await;
        socket.subscribe("1", document, json!({})).await;
        let message = socket.receive().await;
        if message["type"] == "error" {
            json!({ "errors": message["payload"] })
        } else {
            message["payload"].clone()
        }
    } else {
        role.client(server).send(document, json!({})).await.body
    };
    let errors = response["errors"].as_array().cloned().unwrap_or_default();
    errors.iter().map(|error| error["extensions"]["code"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_role_may_do_exactly_what_the_table_allows() {
    let server = Server::start(&["--federation"]);
    let things = Things::new(&server).await;
    // Deletions come last.
    let (removing, others): (Vec<Right>, Vec<Right>) =
        rights().into_iter().partition(|right| right.field.starts_with("delete"));
    let mut wrong = Vec::new();
    for Right { of_type, field, who } in others.into_iter().chain(removing) {
        let document = things.document(&of_type, &field);
        for role in As::ALL {
            let codes = codes(&server, role, &of_type, &document).await;
            let expected: Vec<&str> = role.refusal(who).into_iter().collect();
            if codes != expected {
                wrong.push(format!("{of_type}.{field} as {role:?}: {codes:?}, not {expected:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The paths outside of GraphQL, each with who may read it, from docs/operations/security.md.
fn paths() -> Vec<(String, String)> {
    let page = support::text_of("docs/operations/security.md");
    let (_, rest) = page.split_once("| Path | Who may |").unwrap();
    let rows = rest.lines().skip(2).take_while(|line| line.starts_with('|'));
    rows.flat_map(|row| {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let who = cells[2].to_owned();
        cells[1]
            .split('`')
            .skip(1)
            .step_by(2)
            .map(move |path| (path.to_owned(), who.clone()))
            .collect::<Vec<_>>()
    })
    .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_role_may_read_exactly_the_paths_of_the_table() {
    let server = Server::shared();
    assert!(paths().contains(&("/admin/metrics".into(), "moderator".into())));
    for (path, who) in paths() {
        let who = Who::named(&who);
        for role in As::ALL {
            let mut builder = request("GET", &format!("{}{path}", server.url));
            if let Some(token) = role.token() {
                builder = builder.bearer_auth(token);
            }
            let response = Raw::of(builder).await;
            let expected = match role.refusal(who.unwrap()) {
                None => 200,
                Some("UNAUTHENTICATED") => 401,
                Some(_) => 403,
            };
            assert_eq!(response.status, expected, "{path} as {role:?}");
            if let Some(code) = role.refusal(who.unwrap()) {
                assert!(!response.refusal().is_empty());
                assert_eq!(response.json()["errors"][0]["extensions"]["code"], code, "{path} as {role:?}");
            }
        }
    }
}

#[tokio::test]
async fn moderators_read_the_metrics_that_scrapers_read() {
    let server = Server::shared();
    let url = format!("{}/admin/metrics", server.url);
    let for_moderator = Raw::of(request("GET", &url).bearer_auth(As::Moderator.token().unwrap())).await;
    let scraped = Raw::of(request("GET", &format!("{}/metrics", server.url))).await;
    assert_eq!(for_moderator.media_type(), "text/plain");
    assert_eq!(for_moderator.header("cache-control"), Some("no-store"));
    let names = |response: &Raw| {
        let text = String::from_utf8(response.bytes.clone()).unwrap();
        text.lines().filter(|line| line.starts_with("# TYPE ")).map(str::to_owned).collect::<BTreeSet<_>>()
    };
    assert!(names(&for_moderator).is_subset(&names(&scraped)) && names(&for_moderator).len() > 20);

    let refused = Raw::of(request("GET", &url).bearer_auth("no token")).await;
    assert_eq!(
        (refused.status, refused.header("www-authenticate")),
        (401, Some("Bearer error=\"invalid_token\""))
    );
    assert_eq!(Raw::of(request("POST", &url)).await.status, 405);
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_do_not_reveal_whether_private_objects_exist() {
    let server = Server::shared();
    let stores = server.stores();
    let n = note(stores.new_note().await);
    let busy = server.client("dan has a private life");
    busy.like(&n).await;
    busy.act("collectNote", json!({ "noteId": n }), "changed").await;
    stores.rest().await;
    let (busy, idle) = (user(stores.user_of("dan has a private life").await), user(stores.new_user().await));
    let (eve, nobody) = (server.client("eve reads"), server.anonymous());
    for field in
        ["likedNotes { nodes { id } }", "collectedNotes { nodes { id } }", "inbox { id unreadLikeCount }"]
    {
        let query = format!("query ($u: ID!) {{ user(id: $u) {{ {field} }} }}");
        for client in [&eve, &nobody] {
            let about = async |id: &str| client.send(&query, json!({ "u": id })).await.body;
            let (of_busy, of_idle) = (about(&busy).await, about(&idle).await);
            assert_eq!(of_busy, of_idle, "{field}");
            assert_eq!(of_busy["errors"].as_array().unwrap().len(), 1, "{of_busy}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn to_others_a_pending_comment_does_not_exist() {
    let server = Server::shared();
    let stores = server.stores();
    let number = stores.new_note().await;
    let waiting = stores.new_comment(number).await;
    set_pending(server, waiting).await;
    let (n, waiting, missing) = (note(number), format!("comment_{waiting}"), "comment_900000000".to_owned());
    let eve = server.client("eve");
    let service = server.client_as(Role::Service, "a curious service");
    for client in [&eve, &service] {
        for document in [
            "{ node(id: \"ID\") { id } }".to_owned(),
            "{ nodes(ids: [\"ID\"]) { id } }".into(),
            "mutation { likeComment(input: { commentId: \"ID\" }) { changed } }".into(),
            "mutation { unlikeComment(input: { commentId: \"ID\" }) { changed } }".into(),
            "mutation { deleteComment(input: { commentId: \"ID\" }) { changed } }".into(),
            format!(
                "mutation {{ addComment(input: {{ noteId: \"{n}\", replyToId: \"ID\", body: \"x\" }}) {{ __typename }} }}"
            ),
            "mutation { reportComment(input: { commentId: \"ID\", reason: SPAM }) { changed } }".into(),
        ] {
            let about = async |id: &str| client.send(&document.replace("ID", id), json!({})).await.body;
            let (of_waiting, of_missing) = (about(&waiting).await, about(&missing).await);
            assert_eq!(of_waiting, of_missing, "{document}");
        }
    }
    let mut messages = Vec::new();
    for id in [&waiting, &missing] {
        let mut socket = server.socket("eve").await;
        let query = "subscription ($c: [ID!]!) { commentCountsChanged(commentIds: $c) { id } }";
        socket.subscribe("1", query, json!({ "c": [id] })).await;
        messages.push(socket.receive().await.to_string().replace(id.as_str(), "ID"));
    }
    assert_eq!(messages[0], messages[1]);
}
