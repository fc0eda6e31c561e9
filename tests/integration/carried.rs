//! Carried numbers: totals of an app from before it kept records, as an import sets them.

use plaudit_token_auth::Role;
use serde_json::{Value, json};

use crate::import::{Files, command, ended, import, like, note, nothing_drifted, user};
use support::{SOON, Server, Stores, eventually};

const OLD: &str = "2019-01-01T00:00:00Z";

fn carried(note: &str, counter: &str, value: i64) -> Value {
    json!({ "type": "carried", "note": note, "counter": counter, "value": value })
}

fn followers(user: &str, value: i64) -> Value {
    json!({ "type": "carried", "user": user, "counter": "followers", "value": value })
}

/// A server with users a and b, and notes p and q of a; b likes p.
fn scene() -> (Server, Files) {
    let (server, files) = (Server::start(&[]), Files::new());
    let lines = [user("a"), user("b"), note("p", "a", OLD), note("q", "a", OLD), like("b", "p", true, OLD)];
    assert_eq!(import(&server, &files.write("scene.jsonl", &lines)).0, 0);
    (server, files)
}

/// Imports lines, which must write so many rows.
fn set(server: &Server, files: &Files, lines: &[Value], rows: usize) {
    let (code, text) = import(server, &files.write("carried.jsonl", lines));
    assert!(code == 0 && text.contains(&format!(", {rows} rows written, 0 lines rejected")), "{text}");
}

const COUNTS: &str = "{ note(id: \"note:p\") { likeCount collectCount viewCount
    author { likesReceivedCount collectsReceivedCount followerCount } } }";

/// Likes, collects and views of p; what its author received; and the author's followers.
async fn counts(server: &Server) -> [i64; 6] {
    server.stores().rest().await;
    let note = server.anonymous().data(COUNTS, json!({})).await["note"].clone();
    let author = &note["author"];
    [
        &note["likeCount"],
        &note["collectCount"],
        &note["viewCount"],
        &author["likesReceivedCount"],
        &author["collectsReceivedCount"],
        &author["followerCount"],
    ]
    .map(|count| count.as_i64().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_carried_number_is_set_and_moves_the_totals_by_the_difference_while_users_like() {
    let (server, files) = scene();
    let (b, c) = (server.client("b"), server.client("c"));
    let mut socket = server.socket("b").await;
    socket.watch_notes(&["note:p"]).await;
    socket.note_until(|note| note["likeCount"] == 1).await;

    let all = [
        carried("p", "likes", 100),
        carried("p", "collects", 20),
        carried("p", "views", 1_000),
        followers("a", 50),
    ];
    for rows in [4, 0] {
        set(&server, &files, &all, rows);
        assert_eq!(counts(&server).await, [101, 20, 1_000, 101, 20, 50]);
        nothing_drifted(&server).await;
    }
    socket.note_until(|note| note["likeCount"] == 101).await;

    // Likes and views of today are added to it.
    c.like("note:p").await;
    b.follow("user:a").await;
    b.act("recordViews", json!({ "noteIds": ["note:p"] }), "notes { id }").await;
    eventually("the view counts", SOON, || async { (counts(&server).await[2] == 1_001).then_some(()) }).await;
    assert_eq!(counts(&server).await, [102, 20, 1_001, 102, 20, 51]);

    // Raised and lowered; of two lines about one number the last counts, also if it is 0.
    set(&server, &files, &[carried("p", "likes", 150), carried("p", "views", 900)], 2);
    assert_eq!(counts(&server).await, [152, 20, 901, 152, 20, 51]);
    let twice = [
        carried("p", "likes", 999),
        carried("p", "collects", 0),
        carried("p", "likes", 30),
        followers("a", 0),
    ];
    for rows in [3, 0] {
        set(&server, &files, &twice, rows);
        assert_eq!(counts(&server).await, [32, 0, 901, 32, 0, 1]);
        nothing_drifted(&server).await;
    }
    socket.note_until(|note| note["likeCount"] == 32).await;
    // An import of totals writes no entry of an inbox and no edge.
    assert_eq!(server.client("a").note("note:p").await["viewerHasLiked"], false);
    assert_eq!(server.stores().number("SELECT count(*) FROM activity WHERE $1 = 0", 0).await, 2);
}

/// Likes that the author has received, by the total.
async fn received(stores: &Stores, author: i64) -> i64 {
    stores.rest().await;
    stores.number("SELECT likes_received FROM user_counts WHERE id = $1", author).await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_note_carries_counts_for_its_author_only_while_everybody_sees_the_note() {
    let (server, files) = scene();
    let stores = server.stores();
    let (author, moderator) = (stores.user_of("a").await, server.client_as(Role::Moderator, "the moderator"));
    set(&server, &files, &[carried("p", "likes", 100), carried("q", "likes", 7), followers("a", 5)], 3);
    assert_eq!(received(&stores, author).await, 108);

    let hidden = json!({ "userId": "user:a" });
    moderator.act("hideUser", hidden.clone(), "changed").await;
    assert_eq!(received(&stores, author).await, 0);
    nothing_drifted(&server).await;
    // The note of a hidden author is counted on, as by likes.
    set(&server, &files, &[carried("p", "likes", 200)], 1);
    assert_eq!(received(&stores, author).await, 0);
    nothing_drifted(&server).await;
    moderator.act("restoreUser", hidden, "changed").await;
    assert_eq!(received(&stores, author).await, 208);
    assert_eq!(counts(&server).await, [201, 0, 0, 208, 0, 5]);
    nothing_drifted(&server).await;

    server.client("a").act("deleteNote", json!({ "noteId": "note:p" }), "changed").await;
    assert_eq!(received(&stores, author).await, 7);
    nothing_drifted(&server).await;
    let (code, text) = import(&server, &files.write("removed.jsonl", &[carried("p", "likes", 300)]));
    assert!(code == 2 && text.contains("0 rows written, 1 lines rejected"), "{text}");
    let why = files.rejects("removed.jsonl")[0]["reason"].clone();
    assert_eq!(why, "the note with the key \"p\" was removed");
    assert_eq!(received(&stores, author).await, 7);

    assert!(server.command().args(["erase", "user:a", "--yes"]).output().unwrap().status.success());
    assert_eq!(received(&stores, author).await, 0);
    let left = "SELECT count(*) FROM carried_total WHERE kind = 'user' AND id = $1";
    assert_eq!(stores.number(left, author).await, 0);
    nothing_drifted(&server).await;
    let gone = [followers("a", 5), carried("q", "likes", 8)];
    assert_eq!(import(&server, &files.write("gone.jsonl", &gone)).0, 2);
    let rejects = files.rejects("gone.jsonl");
    assert_eq!(rejects.len(), 2, "{rejects:?}");
    assert!(rejects[0]["reason"].as_str().unwrap().contains("was erased"), "{rejects:?}");
    nothing_drifted(&server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_that_is_killed_at_its_commit_has_set_all_numbers_of_the_batch_or_none() {
    let (server, files) = scene();
    let file = files.write("carried.jsonl", &[carried("p", "likes", 100), followers("a", 50)]);
    for (point, likes, followers) in [("import.before", 1, 0), ("import.after", 101, 50)] {
        let mut killed = command(&server, &[file.to_str().unwrap()]);
        let output = killed.env("FAILPOINTS", format!("{point}=return(die)")).output().unwrap();
        assert!(!output.status.success(), "{output:?}");
        assert_eq!(counts(&server).await, [likes, 0, 0, likes, 0, followers], "{point}");
        nothing_drifted(&server).await;
    }
    let (code, text) = import(&server, &file);
    assert!(code == 0 && text.contains("0 rows written"), "{text}");
    assert_eq!(counts(&server).await, [101, 0, 0, 101, 0, 50]);
}

#[tokio::test(flavor = "multi_thread")]
async fn numbers_that_cannot_be_carried_are_rejected_with_their_reasons() {
    let (server, files) = scene();
    let wrong = [
        (carried("p", "comments", 1), "counter: a note carries likes, collects, views, not \"comments\""),
        (carried("p", "likes", -1), "value: must be between 0 and 1000000000000, not -1"),
        (carried("p", "likes", 1_000_000_000_001), "value: must be between 0 and 1000000000000"),
        (carried("nothing", "likes", 1), "there is no note with the key \"nothing\""),
        (followers("nobody", 1), "there is no user with the subject \"nobody\""),
    ];
    let lines: Vec<Value> =
        wrong.iter().map(|(line, _)| line.clone()).chain([carried("p", "likes", 9)]).collect();
    let file = files.write("wrong.jsonl", &lines);
    let (code, text) = ended(command(&server, &["--dry-run", file.to_str().unwrap()]).output().unwrap());
    assert!(code == 2 && text.contains("nothing written, 5 lines rejected"), "{text}");
    for rows in [1, 0] {
        let (code, text) = import(&server, &file);
        assert!(code == 2 && text.contains(&format!("{rows} rows written, 5 lines rejected")), "{text}");
        let rejects = files.rejects("wrong.jsonl");
        assert_eq!(rejects.len(), wrong.len());
        for ((line, why), reject) in wrong.iter().zip(&rejects) {
            assert!(reject["reason"].as_str().unwrap().contains(why), "{reject}");
            assert_eq!(reject["text"], line.to_string());
        }
        assert_eq!(counts(&server).await[0], 10);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rankings_explanations_exports_and_comparisons_know_what_is_carried() {
    let (server, files) = scene();
    let all = [carried("q", "likes", 1_000), carried("q", "views", 3), followers("a", 5)];
    set(&server, &files, &all, 3);
    server.stores().rest().await;

    let ranked = "{ hotNotes(orderBy: ALL) { nodes { key } } user(id: \"user:a\") { notes(orderBy: HOT) { nodes { key } } } }";
    eventually("the ranking has it first", SOON, || async {
        let data = server.anonymous().send(ranked, json!({})).await.body["data"].clone();
        (data["hotNotes"]["nodes"][0]["key"] == "q" && data["user"]["notes"]["nodes"][0]["key"] == "q")
            .then_some(())
    })
    .await;

    let run = |arguments: &[&str]| ended(server.command().args(arguments).output().unwrap());
    let (_, printed) = run(&["explain", "note:q"]);
    let moderator = server.client_as(Role::Moderator, "the moderator");
    let asked = moderator.data("{ explain(id: \"note:q\") }", json!({})).await["explain"].clone();
    for explained in [serde_json::from_str::<Value>(&printed).unwrap(), asked] {
        let counters: &Vec<Value> = explained["counters"].as_array().unwrap();
        let of =
            |name: &str, part: &str| counters.iter().find(|of| of["name"] == name).unwrap()[part].as_i64();
        assert_eq!(["rows", "carried", "total"].map(|part| of("likes", part)), [Some(1_000); 3]);
        assert_eq!(of("views", "carried"), Some(3));
        assert_eq!((&explained["verdict"], &explained["findings"]), (&json!(["all agree"]), &json!([])));
    }
    let (_, held) = run(&["export", "--user", "user:a"]);
    assert!(
        held.contains("{\"likes\": 1000, \"views\": 3}") && held.contains("{\"followers\": 5}"),
        "{held}"
    );

    // A repair adds what is carried to the rows.
    let stores = server.stores();
    let wrong = "UPDATE note_counts SET likes = 4, views = 0; UPDATE user_counts SET likes_received = 0, followers = 0";
    sqlx::raw_sql(wrong).execute(&stores.sql().await).await.unwrap();
    assert_eq!(run(&["reconcile", "--repair"]).0, 0);
    nothing_drifted(&server).await;
    let totals = "SELECT sum(likes * 10 + views)::bigint FROM note_counts WHERE $1 = 0";
    assert_eq!(stores.number(totals, 0).await, 10 * 1_001 + 3);

    let compared = |value| {
        let lines = [
            carried("q", "likes", value),
            carried("p", "views", 0),
            carried("p", "likes", 2),
            followers("a", 5),
        ];
        let file = files.write("compared.jsonl", &lines);
        run(&["import", "--dry-run", "--write-differences", "/dev/null", file.to_str().unwrap()])
    };
    let (code, report) = compared(1_000);
    assert!(code == 2 && report.contains("carried: 4 lines, 1 missing, 0 otherwise, 0 later"), "{report}");
    let (_, report) = compared(999);
    assert!(report.contains("carried: 4 lines, 1 missing, 1 otherwise, 0 later"), "{report}");
}

#[tokio::test(flavor = "multi_thread")]
async fn imports_at_once_set_one_number_after_the_other_and_totals_follow() {
    let (server, files) = scene();
    let mut imports = Vec::new();
    for value in 1..=4 {
        // In another order each: imports that wait for each other in a circle would end as an error.
        let mut lines =
            vec![carried("p", "likes", value), carried("q", "likes", value), followers("a", value)];
        lines.rotate_left(value as usize % 3);
        let file = files.write(&format!("{value}.jsonl"), &lines);
        imports.push(command(&server, &[file.to_str().unwrap()]).spawn().unwrap());
    }
    for mut import in imports {
        assert!(import.wait().unwrap().success());
    }
    let [likes, _, _, received, _, followers] = counts(&server).await;
    let stores = server.stores();
    let set = "SELECT sum(value)::bigint FROM carried_total WHERE kind = 'note' AND $1 = 0";
    assert_eq!(received, 1 + stores.number(set, 0).await);
    assert!((2..=5).contains(&likes) && (1..=4).contains(&followers), "{likes} {followers}");
    nothing_drifted(&server).await;
}
