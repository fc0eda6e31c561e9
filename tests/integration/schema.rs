#[test]
fn the_exported_schema_is_the_one_in_the_repository() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/schema/schema.graphql");
    let kept = std::fs::read_to_string(file).unwrap_or_default();
    assert!(
        kept == plaudit::graphql::sdl(),
        "schema/schema.graphql is not what the code says: run `cargo run -- schema > schema/schema.graphql` and look at the difference"
    );
}
