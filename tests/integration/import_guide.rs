//! The guide "From your tables to Plaudit": its statements make lines that are all imported.

use std::process::Command;

use crate::import::{command, ended, nothing_drifted};
use support::{Server, Stores};

/// The app's tables, with texts that are missing, empty and too long.
const APP: &str = "
    CREATE TABLE users (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), name text);
    CREATE TABLE teams (id bigserial PRIMARY KEY, owner_id uuid NOT NULL, name text, about text,
                        created_at timestamp NOT NULL DEFAULT '2019-01-02 03:04:05');
    CREATE TABLE posts (id bigserial PRIMARY KEY, author_id uuid NOT NULL, team_id bigint, title text, body text,
                        view_count integer, created_at timestamp NOT NULL DEFAULT '2020-01-02 03:04:05.678');
    CREATE TABLE likes (user_id uuid, post_id bigint, created_at timestamptz DEFAULT '2021-01-01', PRIMARY KEY (user_id, post_id));
    CREATE TABLE comments (id bigserial PRIMARY KEY, post_id bigint NOT NULL, user_id uuid NOT NULL, parent_id bigint,
                           body text, created_at timestamptz DEFAULT '2021-02-03');
    CREATE TABLE comment_likes (user_id uuid, comment_id bigint, created_at timestamptz DEFAULT '2021-03-01');
    CREATE TABLE saves (user_id uuid, post_id bigint, created_at timestamptz DEFAULT '2021-04-01');
    CREATE TABLE follows (user_id uuid, followed_id uuid, created_at timestamptz DEFAULT '2021-05-01');
    CREATE TABLE members (user_id uuid, team_id bigint, created_at timestamptz DEFAULT '2021-06-01');
    CREATE TABLE ratings (user_id uuid, post_id bigint, stars integer, created_at timestamptz DEFAULT '2021-07-01');
    INSERT INTO users (name) VALUES ('Ada'), (NULL), ('  '), (repeat('long ', 50)), (E'a \\\\ \"quoted\"'), ('Zoë 🦀');
    INSERT INTO posts (author_id, title, body, view_count)
        SELECT id, t, b, v FROM users CROSS JOIN (VALUES ('Title', E'Two\\nlines', 7), (NULL, NULL, NULL), ('', ' ', 0),
            (repeat('t ', 500), repeat('b ', 9000), 1)) AS texts (t, b, v);
    INSERT INTO teams (owner_id, name, about)
        SELECT id, n, a FROM users CROSS JOIN (VALUES ('Team', 'About'), (NULL, NULL), (repeat('n ', 90), repeat('a ', 900))) AS texts (n, a);
    UPDATE posts SET team_id = 1 + id % 2 WHERE id % 3 = 0;
    INSERT INTO likes (user_id, post_id) SELECT users.id, posts.id FROM users CROSS JOIN posts;
    INSERT INTO comments (post_id, user_id, body)
        SELECT 1, id, b FROM users CROSS JOIN (VALUES ('Two' || E'\\n' || 'lines'), (NULL), (repeat('c ', 2000))) AS texts (b);
    INSERT INTO comments (post_id, user_id, parent_id, body) SELECT 1, user_id, id, 'A reply' FROM comments;
    INSERT INTO comment_likes (user_id, comment_id) SELECT users.id, comments.id FROM users CROSS JOIN comments;
    INSERT INTO saves (user_id, post_id) SELECT user_id, post_id FROM likes;
    INSERT INTO follows (user_id, followed_id) SELECT a.id, b.id FROM users AS a CROSS JOIN users AS b;
    INSERT INTO members (user_id, team_id) SELECT users.id, teams.id FROM users CROSS JOIN teams;
    INSERT INTO ratings (user_id, post_id, stars) SELECT user_id, post_id, post_id % 6 FROM likes;";

/// The files in the order in which they are imported, and how many lines they have.
const FILES: [(&str, i64); 11] = [
    ("users", 6),
    ("teams", 18),
    ("posts", 24),
    ("comments", 36),
    ("likes", 144),
    ("comment_likes", 216),
    ("saves", 144),
    ("follows", 30),
    ("members", 108),
    ("ratings", 144),
    ("views", 24),
];

/// The first shell commands of a section that begin with these words.
fn commands(page: &str, section: &str, begins: &str) -> String {
    let section = page.split("\n## ").find(|part| part.starts_with(section)).unwrap();
    let mut blocks = section.split("```sh\n").skip(1).map(|block| block.split("```").next().unwrap());
    blocks.find(|block| block.starts_with(begins)).unwrap().to_owned()
}

/// In the words of PostgreSQL, each statement on a line.
fn in_words_of_postgresql(statements: &str) -> Vec<String> {
    let text = statements.to_lowercase().replace("json_object", "json_build_object");
    let text = text.replace("cast(", "").replace(" as char)", "::text");
    let text = text.replace("$at", "'at', created_at::timestamptz");
    text.split("\ndump ").skip(1).map(|of| of.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

/// Types of lines, fields and cuts. Whether MySQL takes them is not tried here.
#[test]
fn the_statements_for_mysql_make_the_lines_of_those_for_postgresql() {
    let page = include_str!("../../docs/guide/from-your-tables.md");
    for (section, postgresql, mysql, count) in [
        ("Writing them", "dump() { psql", "dump() { mysql", 10),
        ("Totals without records", "dump views \"SELECT json_build", "dump views \"SELECT JSON_OBJ", 1),
    ] {
        let [of_postgresql, of_mysql] = [postgresql, mysql]
            .map(|begins| in_words_of_postgresql(&format!("\n{}", commands(page, section, begins))));
        assert_eq!((of_postgresql.len(), &of_mysql), (count, &of_postgresql));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_statements_of_the_guide_make_lines_of_which_all_are_imported() {
    let page = include_str!("../../docs/guide/from-your-tables.md");
    let app = Stores::start(plaudit_embedded_stores::AppendFsync::EverySec).await;
    sqlx::raw_sql(APP).execute(&app.sql().await).await.unwrap();
    let directory = tempfile::tempdir().unwrap();
    let script = [
        commands(page, "Writing them", "dump() { psql"),
        commands(page, "Totals without records", "dump views"),
    ]
    .concat();
    let script = script.replace("psql ", "psql \"$APP\" -v ON_ERROR_STOP=1 ");
    let mut shell = Command::new("bash");
    shell.args(["-euo", "pipefail", "-c", &script]).env("APP", app.database_url());
    let (code, said) = ended(shell.current_dir(&directory).output().unwrap());
    assert_eq!(code, 0, "{said}");

    let server = Server::start(&[]);
    let files =
        FILES.map(|(name, _)| directory.path().join(format!("{name}.jsonl.gz")).to_str().unwrap().to_owned());
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let (code, said) = ended(command(&server, &files).output().unwrap());
    assert_eq!(code, 0, "{said}");
    for (name, lines) in FILES {
        assert!(said.contains(&format!("{name}.jsonl.gz: {lines} lines, ")), "{name}: {said}");
    }
    let dry = [&["--dry-run", "--write-differences", "/dev/null"], &files[..]].concat();
    let (code, said) = ended(command(&server, &dry).output().unwrap());
    assert_eq!(code, 0, "{said}");
    let views = "SELECT sum(views)::bigint FROM note_counts WHERE $1 > 0";
    assert_eq!(server.stores().number(views, 1).await, 6 * 8);
    nothing_drifted(&server).await;
}
