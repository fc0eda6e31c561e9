//! Finding groups and users.

use plaudit_token_auth::Role;
use serde_json::{Value, json};
use support::{Client, Server};

/// All items of a list, a few at a time: the given field of each.
async fn all(client: &Client, list: &str, field: &str) -> Vec<String> {
    let (mut found, mut after) = (Vec::new(), Value::Null);
    loop {
        let query = format!(
            "query ($after: String) {{ list: {list}, first: 2, after: $after) {{
                 nodes {{ {field} }} pageInfo {{ hasNextPage endCursor }} }} }}"
        );
        let page = client.data(&query, json!({ "after": after })).await["list"].clone();
        let nodes = page["nodes"].as_array().unwrap();
        found.extend(nodes.iter().map(|node| node[field].as_str().unwrap().to_owned()));
        if page["pageInfo"]["hasNextPage"] == false {
            return found;
        }
        after = page["pageInfo"]["endCursor"].clone();
    }
}

#[tokio::test]
async fn groups_are_listed_by_members_and_by_age() {
    let server = Server::start(&[]);
    let founder = server.client("ann founds");
    for (name, members) in [("Two", 2), ("None", 0), ("Three", 3), ("Also two", 2)] {
        let group = founder.act("createGroup", json!({ "name": name }), "group { id }").await;
        for member in 0..members {
            let member = server.client(&format!("member {member}"));
            member.act("joinGroup", json!({ "groupId": group["group"]["id"] }), "changed").await;
        }
    }
    server.stores().rest().await;
    let reader = server.anonymous();
    for _ in 0..2 {
        assert_eq!(
            all(&reader, "groups(orderBy: MEMBERS", "name").await,
            ["Three", "Also two", "Two", "None"]
        );
        assert_eq!(
            all(&reader, "groups(orderBy: NEWEST", "name").await,
            ["Also two", "Three", "None", "Two"]
        );
    }
    let query = "query ($after: String) { groups(orderBy: NEWEST, first: 1, after: $after) { pageInfo { endCursor } } }";
    let newest = reader.data(query, json!({})).await["groups"]["pageInfo"]["endCursor"].clone();
    let error = reader.error(&query.replace("NEWEST", "MEMBERS"), json!({ "after": newest })).await;
    assert_eq!(error["extensions"]["argument"], "after", "a cursor of another order");
}

#[tokio::test]
async fn a_group_with_an_old_time_is_at_its_place_among_the_newest() {
    let server = Server::start(&[]);
    let founder = server.client("ann founds");
    for name in ["Now", "Old", "Same time", "Also the same time", "Oldest"] {
        founder.act("createGroup", json!({ "name": name }), "group { id }").await;
    }
    let sql = server.stores().sql().await;
    for (name, at) in [
        ("Old", "2019-03-01 12:00:00.000002Z"),
        ("Same time", "2019-03-01 12:00:00.000001Z"),
        ("Also the same time", "2019-03-01 12:00:00.000001Z"),
        ("Oldest", "2018-01-01Z"),
    ] {
        let update = sqlx::query("UPDATE app_group SET created_at = $2::text::timestamptz WHERE name = $1");
        assert_eq!(update.bind(name).bind(at).execute(&sql).await.unwrap().rows_affected(), 1, "{name}");
    }
    let by_age = ["Now", "Old", "Also the same time", "Same time", "Oldest"];
    assert_eq!(all(&server.anonymous(), "groups(orderBy: NEWEST", "name").await, by_age);
}

#[tokio::test]
async fn users_are_found_by_the_beginning_of_their_name_in_any_case() {
    let server = Server::start(&[]);
    for (subject, name) in [
        ("1", "Mira Okafor"),
        ("2", "mirabel"),
        ("3", "MIRO"),
        ("4", "Mir"),
        ("5", "Élodie"),
        ("6", "100% real"),
        ("7", "1000 names"),
        ("8", "mirabel"),
        ("9", "Mi\u{10FFFD}"),
    ] {
        server.client(subject).act("updateProfile", json!({ "name": name }), "changed").await;
    }
    let reader = server.anonymous();
    let found = async |prefix: &str| all(&reader, &format!("users(prefix: {}", json!(prefix)), "name").await;
    let miras = ["Mir", "Mira Okafor", "mirabel", "mirabel", "MIRO"];
    for prefix in ["mir", "MIR", " Mir "] {
        assert_eq!(found(prefix).await, miras, "{prefix}");
    }
    assert_eq!(found("mi").await[..5], miras);
    assert_eq!(found("mira ").await, ["Mira Okafor", "mirabel", "mirabel"]);
    assert_eq!(found("éL").await, ["Élodie"]);
    assert_eq!(found("100%").await, ["100% real"]);
    for nobody in ["x", "%", "_ir", "mira okafor's", "mirabel2"] {
        assert_eq!(found(nobody).await, [""; 0], "{nobody}");
    }
    for bad in ["".to_owned(), " ".into(), "x".repeat(41), "a\nb".into()] {
        let query = "query ($p: String!) { users(prefix: $p) { nodes { id } } }";
        let error = reader.error(query, json!({ "p": bad })).await;
        assert_eq!(
            (&error["extensions"]["code"], &error["extensions"]["argument"]),
            (&json!("BAD_USER_INPUT"), &json!("prefix"))
        );
    }
    // A hidden user is not found, a restored one is.
    let moderator = server.client_as(Role::Moderator, "a moderator who hides");
    let miro = reader.data("{ users(prefix: \"miro\") { nodes { id } } }", json!({})).await;
    let miro = json!({ "userId": miro["users"]["nodes"][0]["id"] });
    for (mutation, expected) in [("hideUser", &miras[..4]), ("restoreUser", &miras[..])] {
        for _ in 0..2 {
            moderator.act(mutation, miro.clone(), "changed").await;
            assert_eq!(found("mir").await, expected);
        }
    }
}
