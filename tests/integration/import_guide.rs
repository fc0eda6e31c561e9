//! The guide "From your tables to Plaudit": its statements make lines that are all imported.

use std::process::Command;

use crate::{
    import::{command, ended, nothing_drifted},
    support::{Server, Stores},
};

/// The app's tables, with texts that are missing, empty and too long.
const APP: &str = "
    CREATE TABLE users (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), name text);
    CREATE TABLE posts (id bigserial PRIMARY KEY, author_id uuid NOT NULL, title text, body text,
                        view_count integer, created_at timestamp NOT NULL DEFAULT '2020-01-02 03:04:05.678');
    CREATE TABLE likes (user_id uuid, post_id bigint, created_at timestamptz DEFAULT '2021-01-01', PRIMARY KEY (user_id, post_id));
    INSERT INTO users (name) VALUES ('Ada'), (NULL), ('  '), (repeat('long ', 50)), (E'a \\\\ \"quoted\"'), ('Zoë 🦀');
    INSERT INTO posts (author_id, title, body, view_count)
        SELECT id, t, b, v FROM users CROSS JOIN (VALUES ('Title', E'Two\\nlines', 7), (NULL, NULL, NULL), ('', ' ', 0),
            (repeat('t ', 500), repeat('b ', 9000), 1)) AS texts (t, b, v);
    INSERT INTO likes (user_id, post_id) SELECT users.id, posts.id FROM users CROSS JOIN posts;";

/// The shell commands of a section that begin with this word.
fn commands(page: &str, section: &str, begins: &str) -> String {
    let section = page.split("\n## ").find(|part| part.starts_with(section)).unwrap();
    let blocks = section.split("```sh\n").skip(1).map(|block| block.split("```").next().unwrap());
    blocks.filter(|block| block.starts_with(begins)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_statements_of_the_guide_make_lines_of_which_all_are_imported() {
    let page = include_str!("../../docs/guide/from-your-tables.md");
    let app = Stores::start(plaudit_embedded_stores::AppendFsync::EverySec).await;
    sqlx::raw_sql(APP).execute(&app.sql().await).await.unwrap();
    let directory = tempfile::tempdir().unwrap();
    let script =
        [commands(page, "Writing them", "dump()"), commands(page, "Totals without records", "dump views")]
            .concat();
    let script = script.replace("psql ", "psql \"$APP\" -v ON_ERROR_STOP=1 ");
    let mut shell = Command::new("bash");
    shell.args(["-euo", "pipefail", "-c", &script]).env("APP", app.database_url());
    let (code, said) = ended(shell.current_dir(&directory).output().unwrap());
    assert_eq!(code, 0, "{said}");

    let server = Server::start(&[]);
    let files = ["users", "posts", "likes", "views"]
        .map(|name| directory.path().join(format!("{name}.jsonl.gz")).to_str().unwrap().to_owned());
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let (code, said) = ended(command(&server, &files).output().unwrap());
    assert_eq!(code, 0, "{said}");
    let (code, said) = ended(server.command().arg("compare").args(&files).output().unwrap());
    assert_eq!(code, 0, "{said}");
    let likes = "SELECT count(*) FROM note_like WHERE is_on AND $1 > 0";
    assert_eq!(server.stores().number(likes, 1).await, 6 * 24);
    let views = "SELECT sum(views)::bigint FROM note_counts WHERE $1 > 0";
    assert_eq!(server.stores().number(views, 1).await, 6 * 8);
    nothing_drifted(&server).await;
}
