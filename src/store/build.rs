//! Embeds the migrations, so a new file among them starts a build.

fn main() {
    println!("cargo:rerun-if-changed=../../migrations");
}
