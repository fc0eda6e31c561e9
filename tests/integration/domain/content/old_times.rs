//! Notes and comments with times in the past, as an app's history has them: each is at its place in every list.

use plaudit_token_auth::Role;
use serde_json::{Value, json};
use sqlx::PgPool;
use support::{Client, Reply, SOON, Server, eventually, note, number};

/// Three of these times are equal, one is before 1970, and the order of writing is another than that of the times.
const TIMES: [&str; 6] = [
    "2019-03-01 12:00:00.000002Z",
    "2019-03-01 12:00:00.000001Z",
    "2019-03-01 12:00:00.000001Z",
    "1969-12-31 23:59:59.999999Z",
    "2019-03-01 12:00:00.000001Z",
    "1500-01-01Z",
];
/// What is written now comes first; of equal times the last written.
const NEWEST_FIRST: [usize; 8] = [7, 0, 1, 5, 3, 2, 4, 6];

/// All ids of a list, `first` at a time. In the list's text stands `PAGE` for its arguments and `NODES` for its
/// selection.
async fn read(client: &Client, list: &str, first: usize) -> Vec<String> {
    let list = list
        .replace("PAGE", &format!("first: {first}, after: $after"))
        .replace("NODES", "{ nodes { id } pageInfo { hasNextPage endCursor } }");
    let query = format!("query ($after: String) {{ {list} }}");
    let (mut found, mut after) = (Vec::new(), Value::Null);
    loop {
        let data = client.data(&query, json!({ "after": after })).await;
        let mut page = &data;
        while page.get("nodes").is_none() {
            page = page.as_object().unwrap().values().next().unwrap();
        }
        let nodes = page["nodes"].as_array().unwrap();
        found.extend(nodes.iter().map(|node| node["id"].as_str().unwrap().to_owned()));
        if page["pageInfo"]["hasNextPage"] == false {
            return found;
        }
        after = page["pageInfo"]["endCursor"].clone();
    }
}

async fn write_note(author: &Client, group: Option<&Value>) -> String {
    let input = json!({ "title": "Live", "body": "Text", "groupId": group });
    author.act("createNote", input, "note { id }").await["note"]["id"].as_str().unwrap().to_owned()
}

/// Writes a note with this time, and counts it.
async fn write_old_note(sql: &PgPool, author: i64, group: Option<i64>, at: &str) -> String {
    let insert = "WITH of_author AS (UPDATE user_counts SET notes = notes + 1 WHERE id = $1),
                       of_group AS (UPDATE group_counts SET notes = notes + 1 WHERE id = $2)
                  INSERT INTO note (author_id, group_id, title, body, created_at)
                  VALUES ($1, $2, 'Old', 'Text', $3::text::timestamptz) RETURNING id";
    let id: i64 = sqlx::query_scalar(insert).bind(author).bind(group).bind(at).fetch_one(sql).await.unwrap();
    // As every writer does.
    let stale =
        "INSERT INTO invalidation (shard, names, reason) VALUES ($1::bigint % 2, 'note_' || $1, 'a test')";
    sqlx::query(stale).bind(id).execute(sql).await.unwrap();
    note(id)
}

/// The ids in the order of a list, only of those that `is_in`.
fn in_order(written: &[String], is_in: impl Fn(usize) -> bool) -> Vec<String> {
    NEWEST_FIRST.into_iter().filter(|index| is_in(*index)).map(|index| written[index].clone()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_old_note_is_at_its_place_in_the_feeds_and_the_lists_of_author_and_group() {
    let server = Server::start(&[]);
    let (stores, sql) = (server.stores(), server.stores().sql().await);
    let authors = ["ann", "bob", "cyd"].map(|subject| server.client(subject));
    let group =
        authors[0].act("createGroup", json!({ "name": "All" }), "group { id }").await["group"]["id"].clone();
    for author in &authors[1..] {
        author.act("joinGroup", json!({ "groupId": group }), "changed").await;
    }
    // The note number i is by the author number i modulo 3.
    let mut written = vec![write_note(&authors[0], Some(&group)).await];
    for (index, at) in TIMES.iter().enumerate() {
        let author = stores.user_of(["bob", "cyd", "ann"][index % 3]).await;
        written.push(write_old_note(&sql, author, Some(number(&group)), at).await);
    }
    written.push(write_note(&authors[1], Some(&group)).await);
    let reader = server.client("dan follows them all");
    for subject in ["ann", "bob", "cyd"] {
        reader.follow(&format!("user_{}", stores.user_of(subject).await)).await;
    }

    let all = in_order(&written, |_| true);
    let group = group.as_str().unwrap();
    for list in [
        "feed(PAGE) NODES".to_owned(),
        "followingFeed(PAGE) NODES".to_owned(),
        format!("group(id: \"{group}\") {{ notes(PAGE) NODES }}"),
    ] {
        for first in [1, 2, 3, 100] {
            assert_eq!(read(&reader, &list, first).await, all, "{list}, {first} on a page");
        }
    }
    let moderator = server.client_as(Role::Moderator, "the moderator");
    for (number, (author, subject)) in authors.iter().zip(["ann", "bob", "cyd"]).enumerate() {
        let id = format!("user_{}", stores.user_of(subject).await);
        let notes = format!("user(id: \"{id}\") {{ notes(PAGE) NODES }}");
        let own = in_order(&written, |index| index % 3 == number);
        assert_eq!(read(&reader, &notes, 1).await, own);
        // Of a hidden user, those who may see them have the same order.
        moderator.act("hideUser", json!({ "userId": id }), "changed").await;
        stores.rest().await;
        assert_eq!(read(&reader, &notes, 1).await, [""; 0]);
        for first in [1, 2, 100] {
            assert_eq!(read(&moderator, &notes, first).await, own, "{first} on a page");
            assert_eq!(read(author, "viewer { unpublishedNotes(PAGE) NODES }", first).await, own);
        }
        moderator.act("restoreUser", json!({ "userId": id }), "changed").await;
        stores.rest().await;
        assert_eq!(read(&reader, &notes, 2).await, own);
    }
    assert_eq!(read(&reader, "feed(PAGE) NODES", 3).await, all);
}

#[tokio::test]
async fn an_old_comment_that_only_its_author_sees_is_at_its_place() {
    let server = Server::shared();
    let (stores, sql) = (server.stores(), server.stores().sql().await);
    let n = stores.new_note().await;
    let ann = server.client("ann has old comments");
    write_note(&ann, None).await;
    let author = stores.user_of("ann has old comments").await;
    let mut written = Vec::new();
    for at in ["now"].iter().chain(&TIMES).chain(&["now"]) {
        let insert = "WITH new AS (INSERT INTO comment_index (note_id, author_id, state, created_at)
                                   VALUES ($1, $2, 'rejected', $3::text::timestamptz) RETURNING id)
                      INSERT INTO comment_body (id, body) SELECT id, 'Some words' FROM new RETURNING id";
        let id: i64 = sqlx::query_scalar(insert).bind(n).bind(author).bind(at).fetch_one(&sql).await.unwrap();
        written.push(format!("comment_{id}"));
    }
    let expected = in_order(&written, |_| true);
    for first in [1, 3, 100] {
        assert_eq!(read(&ann, "viewer { unpublishedComments(PAGE) NODES }", first).await, expected);
    }
    let query = "query ($n: ID!) { note(id: $n) { viewerUnpublishedComments { id } } }";
    let data = ann.data(query, json!({ "n": note(n) })).await;
    let of_note = data["note"]["viewerUnpublishedComments"].as_array().unwrap();
    assert_eq!(
        of_note.iter().map(|comment| &comment["id"]).collect::<Vec<_>>(),
        expected.iter().collect::<Vec<_>>()
    );
}

const FIRST_PAGE: &str = "{ feed(first: 3) { nodes { id } } }";

async fn first_page(reader: &Client) -> Vec<String> {
    ids(&reader.send(FIRST_PAGE, json!({})).await)
}

fn ids(reply: &Reply) -> Vec<String> {
    let nodes = reply.body["data"]["feed"]["nodes"].as_array().unwrap_or_else(|| panic!("{}", reply.body));
    nodes.iter().map(|node| node["id"].as_str().unwrap().to_owned()).collect()
}

/// More notes than are in memory, one each minute. Those with the higher ids are older.
async fn fill_the_page(server: &Server, author: i64) -> Vec<String> {
    let insert = "INSERT INTO note (author_id, title, body, created_at)
                  SELECT $1, 'A note', 'Text', now() - i * interval '1 minute' FROM generate_series(1, 150) AS i
                  RETURNING id";
    let ids: Vec<i64> =
        sqlx::query_scalar(insert).bind(author).fetch_all(&server.stores().sql().await).await.unwrap();
    ids.into_iter().map(note).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_old_note_does_not_top_the_first_page_and_a_waiting_one_comes_to_its_place_at_once() {
    let server = Server::start(&[]);
    let (stores, sql) = (server.stores(), server.stores().sql().await);
    let ann = server.client("ann");
    let live = write_note(&ann, None).await;
    let author = stores.user_of("ann").await;
    // It waits for a person. Its id is lower than those of the page, its time is newer.
    let insert = "WITH new AS (INSERT INTO note (author_id, title, body, state, created_at)
                               VALUES ($1, 'Waits', 'Text', 'pending', now() - interval '90 seconds') RETURNING id)
                  INSERT INTO submission (kind, target_id, undecided_why) SELECT 'note', id, 'a test' FROM new RETURNING target_id";
    let waiting = note(sqlx::query_scalar(insert).bind(author).fetch_one(&sql).await.unwrap());
    let page = fill_the_page(&server, author).await;
    let reader = server.anonymous();
    eventually("the page has the rows", SOON, || async {
        (first_page(&reader).await == [&live, &page[0], &page[1]].map(Clone::clone)).then_some(())
    })
    .await;

    let old = write_old_note(&sql, author, None, "2019-03-01Z").await;
    stores.rest().await;
    assert_eq!(first_page(&reader).await, [&live, &page[0], &page[1]].map(Clone::clone));
    assert_eq!(
        reader.data("query ($n: ID!) { note(id: $n) { id } }", json!({ "n": old })).await["note"]["id"],
        old
    );
    let moderator = server.client_as(Role::Moderator, "the moderator");
    moderator.act("decide", json!({ "aboutId": waiting, "decision": "APPROVE" }), "changed").await;
    assert_eq!(first_page(&reader).await, [&live, &page[0], &waiting].map(Clone::clone));
    ann.act("deleteNote", json!({ "noteId": page[0] }), "changed").await;
    assert_eq!(first_page(&reader).await, [&live, &waiting, &page[1]].map(Clone::clone));
    ann.act("deleteNote", json!({ "noteId": old }), "changed").await;
    assert_eq!(first_page(&reader).await, [&live, &waiting, &page[1]].map(Clone::clone));
}

#[tokio::test(flavor = "multi_thread")]
async fn neither_a_like_nor_a_change_of_a_known_old_note_drops_the_first_page() {
    let server = Server::start(&[]);
    let ann = server.client("ann");
    write_note(&ann, None).await;
    let author = server.stores().user_of("ann").await;
    let page = fill_the_page(&server, author).await;
    let old = write_old_note(&server.stores().sql().await, author, None, "2019-03-01Z").await;
    server.stores().rest().await;
    let reader = server.client("bob reads");
    let edit = async |of: &str, number: usize| {
        ann.act("updateNote", json!({ "noteId": of, "title": format!("Edit {number}") }), "changed").await;
    };
    // The page lives for a second only, so one attempt may be too slow.
    for (number, what) in ["a like", "an edit"].into_iter().enumerate() {
        eventually("the page is not read again", SOON, || async {
            reader.note(&old).await;
            first_page(&reader).await;
            match what {
                "a like" => drop(if reader.like(&page[0]).await["changed"] == true {
                    Value::Null
                } else {
                    reader.unlike(&page[0]).await
                }),
                _ => edit(&old, number).await,
            }
            (reader.send(FIRST_PAGE, json!({})).await.sql_statements == 0).then_some(())
        })
        .await;
    }
    for number in 0..3 {
        first_page(&reader).await;
        edit(&page[1], number).await;
        assert_eq!(
            reader.send(FIRST_PAGE, json!({})).await.sql_statements,
            1,
            "a note of the page was edited"
        );
    }
}

#[tokio::test]
async fn a_cursor_from_before_lists_had_times_is_refused() {
    let reader = Server::shared().client("ann has old cursors");
    let n = note(Server::shared().stores().new_note().await);
    // The name of the list and an id, or a score of 0 and an id.
    for (list, cursor) in [
        ("feed(after: $after) { nodes { id } }".to_owned(), "ImZlZWQgNDIi"),
        ("followingFeed(after: $after) { nodes { id } }".to_owned(), "ImZvbGxvd2luZ0ZlZWQgNDIi"),
        (
            "viewer { unpublishedNotes(after: $after) { nodes { id } } }".to_owned(),
            "InVucHVibGlzaGVkTm90ZXMgNDIi",
        ),
        (
            "viewer { unpublishedComments(after: $after) { nodes { id } } }".to_owned(),
            "InVucHVibGlzaGVkQ29tbWVudHMgNDIi",
        ),
        ("groups(orderBy: NEWEST, after: $after) { nodes { id } }".to_owned(), "Im5ld2VzdEdyb3VwcyAwLjQyIg"),
        (
            format!("note(id: \"{n}\") {{ comments(orderBy: NEWEST, after: $after) {{ nodes {{ id }} }} }}"),
            "Im5ld2VzdENvbW1lbnRzIDAuNDIi",
        ),
    ] {
        let query = format!("query ($after: String) {{ {list} }}");
        let error = reader.error(&query, json!({ "after": cursor })).await;
        assert_eq!(error["extensions"]["argument"], "after", "{list}: {error}");
        assert!(error["message"].as_str().unwrap().ends_with("pass a page's endCursor"), "{list}: {error}");
    }
}

/// More notes, and comments on them, than a page of a backfill or an export has.
#[tokio::test(flavor = "multi_thread")]
async fn hiding_restoring_and_exporting_go_through_notes_whose_order_is_not_that_of_their_ids() {
    let server = Server::start(&[]);
    let (stores, sql) = (server.stores(), server.stores().sql().await);
    let ann = server.client("ann");
    write_note(&ann, None).await;
    let (author, other) = (stores.user_of("ann").await, stores.new_user().await);
    // Seven notes have the same time, each time; the youngest has 700 comments, every other one.
    let insert = "WITH notes AS (
                      INSERT INTO note (author_id, title, body, created_at)
                      SELECT $1, 'Old', 'Text', '2019-01-01'::timestamptz + (i * 7919 % 1200 / 7) * interval '1 hour'
                      FROM generate_series(1, 1200) AS i RETURNING id, created_at
                  ), comments AS (
                      INSERT INTO comment_index (note_id, author_id, state)
                      SELECT id, $2, 'approved' FROM notes
                      CROSS JOIN LATERAL generate_series(1, CASE WHEN created_at = (SELECT max(created_at) FROM notes)
                                                                 THEN 700 ELSE 1 END) RETURNING id
                  )
                  INSERT INTO comment_body (id, body) SELECT id, 'Words' FROM comments";
    sqlx::query(insert).bind(author).bind(other).execute(&sql).await.unwrap();
    let reconcile = |flags: &[&str]| {
        let output =
            server.command().arg("reconcile").args(flags).args(["--format", "json"]).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    reconcile(&["--repair"]);
    stores.rest().await;

    let records = server.command().args(["export", "--user", &format!("user_{author}")]).output().unwrap();
    let exported = String::from_utf8(records.stdout).unwrap();
    let exported: Vec<Value> = exported.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let notes: Vec<&str> =
        exported.iter().filter(|of| of["type"] == "note").map(|of| of["id"].as_str().unwrap()).collect();
    let mut listed = read(&ann, &format!("user(id: \"user_{author}\") {{ notes(PAGE) NODES }}"), 100).await;
    listed.reverse();
    assert_eq!(
        (notes.len(), &notes),
        (1201, &listed.iter().map(String::as_str).collect()),
        "the oldest first"
    );

    let moderator = server.client_as(Role::Moderator, "the moderator");
    let hidden_notes = "SELECT count(*) FROM note WHERE author_id = $1 AND is_hidden";
    let hidden_comments = "SELECT count(*) FROM comment_index WHERE author_id = $1 AND note_is_hidden";
    let comments = stores.number("SELECT count(*) FROM comment_index WHERE author_id = $1", other).await;
    assert!(comments > 1900, "{comments}");
    for (action, notes, comments) in [("hideUser", 1201, comments), ("restoreUser", 0, 0)] {
        moderator.act(action, json!({ "userId": format!("user_{author}") }), "changed").await;
        stores.rest().await;
        assert_eq!(stores.number(hidden_notes, author).await, notes, "{action}");
        assert_eq!(stores.number(hidden_comments, other).await, comments, "{action}");
        let drift = reconcile(&[]);
        assert_eq!(drift.lines().count(), 1, "the last line has the sums: {drift}");
    }
}
